"""Every route by which a caller could reach a memory: what it must let through, and how to try it."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import httpx

from tests.behaviour.asking import count, search

Memory = dict[str, Any]
Who = dict[str, str]
"""`agent_id` and `user_id` of a caller."""


class Door(NamedTuple):
    """One way to a memory."""

    shared: bool
    """Whether what is shared may be reached by other agents of the user: what only reads."""
    reach: Callable[[httpx.AsyncClient, Memory, Who], Awaitable[bool]]
    """Whether this caller reached the memory."""
    of_user: bool = True
    """Whether the caller says of which user."""


async def alone(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return memory["id"] in [hit["id"] for hit in await search(rest, memory["content"], top_k=50, **who)]


async def with_named(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    named = {"agents": [memory["agent_id"], "nobody"], "collapse": False}
    return memory["id"] in [hit["id"] for hit in await search(rest, memory["content"], top_k=50, **who, **named)]


async def with_all(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    wide = {"agents": "*", "include_archived": True, "mode": "keyword"}
    return memory["id"] in [hit["id"] for hit in await search(rest, memory["content"], top_k=50, **who, **wide)]


async def of_the_past(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    now = {"agents": "*", "as_of": memory["updated_at"]}
    return memory["id"] in [hit["id"] for hit in await search(rest, memory["content"], top_k=50, **who, **now)]


async def by_condition(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    filters = {"metadata": memory["metadata"], "tags_all": memory["tags"]}
    return bool(await search(rest, "anything", agents="*", filters=filters, **who))


async def as_a_copy(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    """By the number of copies that a search tells of the caller's own text."""
    answer = await rest.post("/v1/memories", json={"content": memory["content"], "tags": ["copy"]} | who)
    if answer.status_code != 201:
        return False
    (hit,) = await search(rest, memory["content"], agents="*", **who)
    return bool(hit["duplicates"]) or answer.json()["duplicate_of"] is not None


async def in_a_context(rest: httpx.AsyncClient, memory: Memory, who: Who, **asked: Any) -> bool:
    answer = await rest.post("/v1/context", json=who | {"query": memory["content"]} | asked)
    packet = answer.json()
    assert (memory["id"] in packet["ids"]) is (memory["content"] in packet["text"]) is bool(packet["total"])
    return memory["id"] in packet["ids"]


async def in_a_context_with_named(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await in_a_context(rest, memory, who, agents=[memory["agent_id"], "nobody"])


async def in_a_context_with_all(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await in_a_context(rest, memory, who, agents="*", include_archived=True)


async def in_a_context_of_the_past(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await in_a_context(rest, memory, who, agents="*", as_of=memory["updated_at"])


async def by_external_id(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post("/v1/memories", json={"content": "new", "external_id": memory["external_id"]} | who)
    return memory["id"] in answer.text


async def listed(rest: httpx.AsyncClient, memory: Memory, who: Who, **asked: Any) -> bool:
    answer = await rest.get("/v1/memories", params=who | asked)
    found: list[Memory] = answer.json()["memories"]
    return memory["id"] in [one["id"] for one in found]


async def listed_with_named(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await listed(rest, memory, who, agents=[memory["agent_id"], "nobody"])


async def listed_with_all(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await listed(rest, memory, who, agents="*", include_archived=True, tags_all=memory["tags"])


async def totalled(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.get("/v1/memories", params=who | {"agents": "*"})
    return bool(answer.json()["total"])


async def noted(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    note = who | {"content": "new", "external_id": memory["external_id"]}
    return memory["id"] in (await rest.post("/api/memories", json=note)).text


async def listed_notes(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return memory["id"] in (await rest.get("/api/memories", params=who)).text


async def searched_notes(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.get("/api/memories/search", params=who | {"query": memory["content"]})
    return memory["id"] in answer.text


async def deleted_note(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.delete(f"/api/memories/{memory['id']}", params=who)
    return answer.status_code == 200


async def figured(rest: httpx.AsyncClient, _: Memory, who: Who, **asked: Any) -> bool:
    answer = await rest.get("/v1/stats", params=who | asked)
    return bool(answer.json()["memories"]["total"])


async def figured_with_named(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await figured(rest, memory, who, agents=[memory["agent_id"], "nobody"])


async def figured_with_all(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await figured(rest, memory, who, agents="*")


async def counted(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    return await count(rest, **who) > 0


async def deleted(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.delete(f"/v1/memories/{memory['id']}", params=who)
    return answer.status_code == 204


async def removed(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post("/v1/memories/delete", json=who | {"content": memory["content"]})
    return bool(answer.json()["deleted"])


async def removed_by_id(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post("/v1/memories/delete", json=who | {"ids": [memory["id"]], "dry_run": True})
    return bool(answer.json()["deleted"])


async def removed_with_all(rest: httpx.AsyncClient, _: Memory, who: Who) -> bool:
    answer = await rest.post("/v1/memories/delete", json=who)
    return bool(answer.json()["deleted"])


async def once(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post("/v1/memories", json={"content": memory["content"], "on_duplicate": "return"} | who)
    return memory["id"] in answer.text


async def in_a_batch_by_external_id(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    item = who | {"content": "new", "external_id": memory["external_id"]}
    return memory["id"] in (await rest.post("/v1/memories/batch", json=[item])).text


async def in_a_batch_by_text(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    item = who | {"content": memory["content"], "on_duplicate": "return"}
    return memory["id"] in (await rest.post("/v1/memories/batch", json=[item])).text


async def read(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.get(f"/v1/memories/{memory['id']}", params=who)
    return answer.status_code == 200


async def recalled(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.get(f"/v1/memories/{memory['id']}/history", params=who)
    return answer.status_code == 200


async def changed(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.patch(f"/v1/memories/{memory['id']}", params=who, json={"importance": 2.0})
    return answer.status_code == 200


async def archived(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post(f"/v1/memories/{memory['id']}/archive", params=who)
    return answer.status_code == 200


async def restored(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
    answer = await rest.post(f"/v1/memories/{memory['id']}/restore", params=who)
    return answer.status_code == 200


def by_id(shared: bool, reach: Callable[[httpx.AsyncClient, Memory, Who], Awaitable[bool]]) -> dict[str, Door]:
    """A route whose caller may say of which user; who does not reaches its own memories alone."""

    async def without(rest: httpx.AsyncClient, memory: Memory, who: Who) -> bool:
        return await reach(rest, memory, {"agent_id": who["agent_id"]})

    return {"with the user": Door(shared, reach), "without the user": Door(False, without, of_user=False)}


# A new route joins this table: `test_sharing.py` refuses one that is missing.
DOORS: dict[str, dict[str, Door]] = {
    "search_memories": {
        "with the own memories": Door(False, alone),
        "with a named agent": Door(True, with_named),
        "with everybody": Door(True, with_all),
        "by a condition on metadata": Door(True, by_condition),
        "as it was known": Door(True, of_the_past),
    },
    "get_context": {
        "with the own memories": Door(False, in_a_context),
        "with a named agent": Door(True, in_a_context_with_named),
        "with everybody": Door(True, in_a_context_with_all),
        "as it was known": Door(True, in_a_context_of_the_past),
    },
    "store_memory": {
        "as a copy of it": Door(True, as_a_copy),
        "by its external id": Door(False, by_external_id),
        "by its text": Door(False, once),
    },
    "store_memories": {
        "by its external id": Door(False, in_a_batch_by_external_id),
        "by its text": Door(False, in_a_batch_by_text),
    },
    "count_memories": {"in the count": Door(False, counted)},
    "stats": {
        "with the own memories": Door(False, figured),
        "with a named agent": Door(True, figured_with_named),
        "with everybody": Door(True, figured_with_all),
    },
    "delete_memory": by_id(False, deleted),
    "delete_memories": {
        "with everything": Door(False, removed_with_all),
        **{f"by text {how}": door for how, door in by_id(False, removed).items()},
        **{f"by id {how}": door for how, door in by_id(False, removed_by_id).items()},
    },
    "read_memory": by_id(True, read),
    "list_memories": {
        "with the own memories": Door(False, listed),
        "with a named agent": Door(True, listed_with_named),
        "with everybody": Door(True, listed_with_all),
        "in the total": Door(True, totalled),
    },
    "store_note": {"by its external id": Door(False, noted)},
    "list_notes": {"in the list": Door(False, listed_notes)},
    "search_notes": {"in the hits": Door(False, searched_notes)},
    "delete_note": by_id(False, deleted_note),
    "memory_history": by_id(True, recalled),
    "change_memory": by_id(False, changed),
    "archive_memory": by_id(False, archived),
    "restore_memory": by_id(False, restored),
}
