"""The sentences of the load tests: our own, in the shape of the reference's test (contract: 15 to write, 8 to ask)."""

import random
from collections.abc import Iterator

AGENTS = [f"load-agent-{number:03}" for number in range(20)]
USERS = [f"load-user-{number:03}" for number in range(10)]
TEXTS_PER_PAIR = 5

# 54 to 79 characters each.
TEXTS = (
    "The customer asked for invoices in PDF form and wants them every Monday morning",
    "Her flight to Lisbon leaves at nine, so the meeting has to move to Thursday",
    "He prefers short answers with one code example and no introduction at all",
    "The staging database was restored from the backup of the third of March",
    "Their team writes services in Go and keeps the command line tools in Python",
    "She is allergic to peanuts and asks for a vegetarian menu at every event",
    "The deployment failed twice because the certificate had expired last week",
    "He learned that the heating in the office turns itself off after seven",
    "The quarterly report needs the numbers of all regions before Wednesday",
    "She moved from Oslo to Vienna in spring and works from home on Fridays",
    "The printer on the second floor only accepts paper from the lower tray",
    "Their contract ends in September and may be extended by two more years",
    "He wants a reminder one day before the birthday of each of his children",
    "The search page became slow after the index on the users table was lost",
    "She reads every error message aloud before she looks at the source code",
)
# 28 to 45 characters each.
QUERIES = (
    "When does her flight to Lisbon leave?",
    "Which food should the menu leave out?",
    "Why did the deployment fail last week?",
    "What language are the services written in?",
    "How does he like his answers to look?",
    "When is the quarterly report needed?",
    "Where did she move to in spring?",
    "What made the search page slow?",
)

SUBJECTS = ("The courier", "Her brother", "Our architect", "A neighbour", "The new intern", "His dentist", "The choir")
VERBS = ("ordered", "repaired", "forgot", "described", "painted", "measured", "borrowed", "photographed")
OBJECTS = ("a green kettle", "the old bridge", "two train tickets", "a broken clock", "the garden gate", "some maps")
PLACES = ("in Porto", "behind the mill", "near the harbour", "at the station", "on the third floor", "by the lake")
TIMES = ("before lunch", "last winter", "on Tuesday", "in the rain", "after the concert", "at dawn", "this spring")


def unique_queries(seed: int) -> Iterator[str]:
    """Questions of about 18 tokens that do not repeat: an embedding cache is of no use for them."""
    chooser = random.Random(seed)
    number = 0
    while True:
        number += 1
        parts = [chooser.choice(words) for words in (SUBJECTS, VERBS, OBJECTS, PLACES, TIMES)]
        yield f"{' '.join(parts)} {seed}-{number}"


def seed_writes(seed: int = 0) -> Iterator[dict[str, object]]:
    """The 1,000 writes before a run: five distinct texts for each agent and user."""
    chooser = random.Random(seed)
    for agent in AGENTS:
        for user in USERS:
            for text in chooser.sample(TEXTS, TEXTS_PER_PAIR):
                yield {
                    "agent_id": agent,
                    "user_id": user,
                    "content": text,
                    "importance": round(chooser.uniform(0.5, 1.5), 2),
                    "memory_type": chooser.choice(("episodic", "semantic")),
                }


def searches(texts: str, seed: int) -> Iterator[dict[str, object]]:
    """Endless searches of one virtual user, who keeps one agent and one user. `texts` is repeated or unique."""
    chooser = random.Random(seed)
    agent, user = chooser.choice(AGENTS), chooser.choice(USERS)
    unique = unique_queries(seed)
    while True:
        query = chooser.choice(QUERIES) if texts == "repeated" else next(unique)
        yield {"agent_id": agent, "user_id": user, "query": query, "top_k": 5, "alpha": 0.7}
