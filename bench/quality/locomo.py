"""LoCoMo retrieval through the service: each turn a memory, each question a query, α = 1.

python -m bench.quality.locomo --data PATH/locomo-dev.json
"""

import asyncio
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from bench.load.client import Connection, call
from bench.quality.measures import ndcg, recall
from bench.services.memex import memex

K = 10
CONNECTIONS = 8
AGENT = "locomo"
EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class Turn(msgspec.Struct, frozen=True):
    """One utterance: `id` is `D<session>:<turn>`."""

    id: str
    text: str


class Question(msgspec.Struct, frozen=True):
    """What is asked of one conversation, and the turns that answer it."""

    user: str
    text: str
    evidence: frozenset[str]


@click.command()
@click.option("--data", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
@click.option("--mode", default="hybrid", show_default=True, help="hybrid, semantic or keyword")
def main(data: Path, mode: str) -> None:
    """Recall@10 and NDCG@10 over every question that has evidence."""
    conversations = msgspec.json.decode(data.read_bytes())
    with memex() as running:
        scores = asyncio.run(measure(running.url, conversations, mode))
    recalls, gains = zip(*scores, strict=True)
    result = {
        "questions": len(scores),
        "mode": mode,
        f"recall@{K}": round(statistics.fmean(recalls), 4),
        f"ndcg@{K}": round(statistics.fmean(gains), 4),
    }
    print(msgspec.json.encode(result).decode())


async def measure(url: str, conversations: list[dict[str, Any]], mode: str) -> list[tuple[float, float]]:
    """(recall, NDCG) of each question."""
    turns = {user: dict(named_turns(talk["conversation"])) for user, talk in users(conversations)}
    stored = [(user, Turn(name, text)) for user, texts in turns.items() for name, text in texts.items()]
    names: dict[str, str] = {}

    async def store(connection: Connection, item: tuple[str, Turn]) -> None:
        user, turn = item
        body = {"agent_id": AGENT, "user_id": user, "content": turn.text}
        answer = await call(connection, "/v1/memories", body)
        names[str(answer["id"])] = turn.id

    async def ask(connection: Connection, question: Question) -> tuple[float, float]:
        body = {
            "agent_id": AGENT,
            "user_id": question.user,
            "query": question.text,
            "top_k": K,
            "alpha": 1,
            "mode": mode,
        }
        # Two turns of one text are two answers here: the data set counts turns, not texts.
        answer = await call(connection, "/v1/memories/search", body | {"collapse": False})
        ranked = [names[hit["id"]] for hit in answer["results"]]  # type: ignore[attr-defined]
        return recall(ranked, question.evidence, K), ndcg(ranked, question.evidence, K)

    await spread(url, stored, store, "turns stored")
    return await spread(url, list(questions(conversations, turns)), ask, "questions asked")


async def spread(url: str, items: list[Any], work: Any, what: str) -> list[Any]:
    """`work` on every item over a few connections, results in the order of the items, progress on the terminal."""
    results: list[Any] = [None] * len(items)
    queue = iter(enumerate(items))

    async def worker() -> None:
        connection = await Connection.open(url)
        for index, item in queue:
            results[index] = await work(connection, item)
            if index % 500 == 499:
                click.echo(f"{index + 1} of {len(items)} {what}", err=True)
        await connection.close()

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
    return results


def users(conversations: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each conversation under the user that holds it."""
    for number, talk in enumerate(conversations):
        yield f"conversation-{number}", talk


def named_turns(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every turn of every session: its id and `speaker: text`, with the caption of a shared image."""
    for key, session in conversation.items():
        if re.fullmatch(r"session_\d+", key) and isinstance(session, list):
            for turn in session:
                caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                yield turn["dia_id"], f"{turn['speaker']}: {turn['text']}{caption}"


def questions(conversations: list[dict[str, Any]], turns: dict[str, dict[str, str]]) -> Iterator[Question]:
    """The questions whose evidence names turns of their conversation."""
    for user, talk in users(conversations):
        for item in talk["qa"]:
            named = evidence(item.get("evidence", []))
            if found := named & turns[user].keys():
                yield Question(user, item["question"], frozenset(found))


def evidence(raw: list[str]) -> set[str]:
    """`["D1:3; D:2:4"]` → {"D1:3", "D2:4"}: the data separates by comma, semicolon and blank, and varies the D."""
    pieces = (piece for text in raw for piece in re.split(r"[;,\s]", text))
    return {f"D{m[1]}:{m[2]}" for piece in pieces if (m := EVIDENCE.fullmatch(piece))}


if __name__ == "__main__":
    main()
