"""A public tokenizer as a model directory has it, and token ids cut to the window."""

import json


def strip(text: str) -> str:
    """The JSON of a tokenizer that neither pads nor cuts, otherwise unchanged."""
    content = json.loads(text)
    content["padding"] = content["truncation"] = None
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def fit(ids: list[int], window: int) -> list[int]:
    """At most `window` ids, the last one (the separator) kept."""
    return ids if len(ids) <= window else [*ids[: window - 1], ids[-1]]
