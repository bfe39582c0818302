"""What the same people measure and keep in order with, as scripts: plain HTTP, no client library.

`python article_checks.py ADDRESS load` stores 100 memories, asks 100 questions, then sends 200 requests, 10 at a time;
`… batch FILE FAILURES` stores a file of one memory a line and writes down what could not be stored and why, in a file
that can be corrected and given to it again; `… delete LOG CONDITIONS` deletes, and writes a line of it down.
Each prints its figures as JSON.
"""

import json
import statistics
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ADDRESS = sys.argv[1].rstrip("/")
TIMEOUT = 30
WRITES = QUERIES = 100
REQUESTS, PARALLEL = 200, 10
JSON, LINES = "application/json", "application/x-ndjson"


def call(method: str, path: str, body: str = "", media: str = JSON, **query: Any) -> tuple[int, Any]:
    """The status and the JSON of one answer."""
    url = f"{ADDRESS}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    headers = {"Content-Type": media} if body else {}
    request = urllib.request.Request(url, body.encode() or None, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def timed(agent: str, number: int, *, write: bool) -> tuple[bool, float]:
    """Whether a write or a query is answered, and in how many milliseconds."""
    begun = time.perf_counter()
    if write:
        note = {"agent_id": agent, "content": f"note {number} of {agent}", "timestamp": int(time.time())}
        status, _ = call("POST", "/api/memories", json.dumps(note))
    else:
        status, hits = call("GET", "/api/memories/search", agent_id=agent, query=f"note {number}", top_k=5)
        status = status if len(hits) == 5 else 0
    return status in (200, 201), (time.perf_counter() - begun) * 1_000


def load() -> dict[str, Any]:
    """Medians of the first and the last quarter, one after the other; then what 10 at a time come to."""
    agent = f"load-agent-{time.time_ns()}"
    writes = [timed(agent, number, write=True) for number in range(WRITES)]
    queries = [timed(agent, number, write=False) for number in range(QUERIES)]
    with ThreadPoolExecutor(PARALLEL) as pool:
        many = list(pool.map(lambda number: timed(agent, number, write=number % 4 == 0), range(REQUESTS)))
    slow = statistics.quantiles([ms for _, ms in many], n=20)
    return {
        "writes": quarters(writes),
        "queries": quarters(queries),
        "parallel": {"requests": len(many), "p50_ms": slow[9], "p95_ms": slow[18], "error_rate": error_rate(many)},
    }


def quarters(answers: list[tuple[bool, float]]) -> dict[str, float]:
    """Whether what came later took longer."""
    size = len(answers) // 4
    first, last = (statistics.median([ms for _, ms in part]) for part in (answers[:size], answers[-size:]))
    return {"first_ms": first, "last_ms": last, "error_rate": error_rate(answers)}


def error_rate(answers: list[tuple[bool, float]]) -> float:
    return sum(not good for good, _ in answers) / len(answers)


def batch(source: Path, failures: Path) -> dict[str, int]:
    """Stores a file of one memory a line, or of one failure a line, as this writes them."""
    lines = [unwrapped(line) for line in source.read_text(encoding="utf-8").split("\n")]
    status, answer = call("POST", "/v1/memories/batch", "\n".join(lines), LINES)
    if status != 200:
        sys.exit(f"nothing stored: {answer['detail']}")
    failed = [one for one in answer["items"] if one["status"] in ("invalid", "failed")]
    written = [{"item": lines[one["line"] - 1], "reason": reason(one)} for one in failed]
    failures.write_text("".join(json.dumps(one) + "\n" for one in written), encoding="utf-8")
    return {"stored": answer["stored"], "duplicate": answer["duplicate"], "failed": len(failed)}


def unwrapped(line: str) -> str:
    """A line of a file of failures is the item in it."""
    try:
        return str(json.loads(line)["item"])
    except (ValueError, KeyError, TypeError):
        return line


def reason(outcome: dict[str, Any]) -> str:
    return "; ".join(f"{problem['loc'][-1]}: {problem['msg']}" for problem in outcome["errors"])


def delete(log: Path, conditions: dict[str, Any]) -> dict[str, int]:
    """Deletes one memory by its `id`, or all that meet conditions; what and how many is a line in the log."""
    if "id" in conditions:
        deleted = int(call("DELETE", f"/api/memories/{conditions['id']}")[0] == 200)
    else:
        status, answer = call("POST", "/v1/memories/delete", json.dumps(conditions))
        if status != 200:
            sys.exit(f"nothing deleted: {answer['detail']}")
        deleted = answer["deleted"]
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"at": time.time(), "conditions": conditions, "deleted": deleted}) + "\n")
    return {"deleted": deleted}


match sys.argv[2:]:
    case ["load"]:
        done: Any = load()
    case ["batch", source, failures]:
        done = batch(Path(source), Path(failures))
    case ["delete", log, conditions]:
        done = delete(Path(log), json.loads(conditions))
    case _:
        sys.exit(__doc__)
print(json.dumps(done))  # noqa: T201
