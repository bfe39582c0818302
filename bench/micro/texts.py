"""The texts that are cut into terms and tokens, all of words that the English stemmer leaves as they are."""

QUERY = "who took the red bus to town last week"
SENTENCE = "my old dog ran from the barn to the hill and back ten more until the rain set in on that cold april night"
LONG = " ".join([SENTENCE] * 50)
"""About 1,150 words."""
LENGTHS = {"query": QUERY, "sentence": SENTENCE, "long": LONG}
SCRIPTS = {"chinese": "他上周坐红色的公共汽车去城里买了两本书", "mixed": "FastAPI 构建的 web app"}
EACH = tuple(f"{SENTENCE} {number}" for number in range(32))
"""Of one batch."""
