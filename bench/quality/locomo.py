"""LoCoMo (Maharana et al. 2024): each turn a memory, each question a query, one user for each conversation.

python -m bench.quality.locomo --data PATH/locomo-dev.json
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from bench.quality.command import Target, Task, data_option, measure, target_options
from bench.quality.dataset import Dataset, Memory, Question

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
# As the paper calls the numbers of the file.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
Conversation = dict[str, Any]


@click.command()
@data_option("locomo-dev.json.", folder=False)
@target_options
def main(data: Path, target: Target) -> None:
    """Retrieval of the turns that a question's evidence names."""
    measure(Task(read(data)), target)


def read(path: Path) -> Dataset:
    """All conversations of the file; questions whose evidence names no turn are left out."""
    conversations: list[Conversation] = msgspec.json.decode(path.read_bytes())
    memories: list[Memory] = []
    questions: list[Question] = []
    without = 0
    for number, conversation in enumerate(conversations):
        user = f"conversation-{number}"
        turns = list(named_turns(user, conversation["conversation"]))
        names = {turn.name for turn in turns}
        memories += turns
        for item in conversation["qa"]:
            found = {f"{user}/{id_}" for id_ in evidence(item.get("evidence", []))} & names
            category = CATEGORIES[item["category"]]
            if found:
                questions.append(Question(user, item["question"], dict.fromkeys(sorted(found), 1.0), category))
            without += not found
    return Dataset("locomo", memories, questions, {"questions without evidence": without})


def named_turns(user: str, conversation: Conversation) -> Iterator[Memory]:
    """Every turn of every session as `speaker: text`, with the caption of a shared image."""
    for key, session in conversation.items():
        if re.fullmatch(r"session_\d+", key) and isinstance(session, list):
            begin = moment(conversation[f"{key}_date_time"])
            for number, turn in enumerate(session):
                caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                text = f"{turn['speaker']}: {turn['text']}{caption}"
                # The file dates sessions only: a second apart keeps the turns in order.
                when = (begin + timedelta(seconds=number)).isoformat()
                yield Memory(f"{user}/{turn['dia_id']}", user, text, key, when)


def moment(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023`, which we take for UTC."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def evidence(raw: list[str]) -> set[str]:
    """`["D1:3; D:2:4"]` → {"D1:3", "D2:4"}: the data separates by comma, semicolon and blank, and varies the D."""
    pieces = (piece for text in raw for piece in re.split(r"[;,\s]", text))
    return {f"D{m[1]}:{m[2]}" for piece in pieces if (m := EVIDENCE.fullmatch(piece))}


if __name__ == "__main__":
    main()
