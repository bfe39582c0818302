"""A script as people write it against an agent memory that was described in an article: plain HTTP, no client library.

`python article.py ADDRESS` stores, lists, searches and deletes, and ends with 1 at the first answer that is not right.
"""

import json
import sys
import time
import urllib.parse
import urllib.request
from typing import Any

ADDRESS = sys.argv[1].rstrip("/")
AGENT = f"shared-agent-{time.time_ns()}"
TIMEOUT = 30
MEMORY = "用户小明喜欢用 Java，正在用 FastAPI 搭建智能体服务"
OTHERS = [
    "今天北京的天气很好，适合出去散步",
    "妈妈做的红烧肉特别好吃",
    "周末我们打算去爬山看日出",
    "图书馆下周一闭馆，请提前还书",
    "小猫昨天打翻了花瓶",
    "高铁票已经订好，早上八点出发",
    "医生建议多喝水、早睡觉",
]
QUESTION = "小明做后端开发用什么语言？"


def call(method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
    """The status and the JSON of one answer."""
    url = f"{ADDRESS}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    data = None if body is None else json.dumps(body).encode()
    headers = {} if data is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
        return answer.status, json.loads(answer.read())


def store(content: str) -> str:
    """Stores one memory of now."""
    metadata = {"source": "conversation", "importance": "high"}
    body = {"agent_id": AGENT, "content": content, "timestamp": int(time.time()), "metadata": metadata}
    status, memory = call("POST", "/api/memories", body)
    expect(status in (200, 201), f"stored with {status}")
    return str(memory["id"])


def expect(holds: bool, what: str) -> None:
    """Ends the script where something is not as the article says."""
    if not holds:
        sys.exit(f"not right: {what}")


for path in ("/api/health", "/health"):
    expect(call("GET", path)[1]["status"] == "ok", path)
ids = [store(content) for content in (OTHERS[0], MEMORY, *OTHERS[1:])]
listed = call("GET", "/api/memories", agent_id=AGENT, limit=20)[1]
expect(isinstance(listed, list), "the list is bare")
expect({memory["id"] for memory in listed} == set(ids), "all are listed")
expect(all(memory["content"] for memory in listed), "with their contents")
hits = call("GET", "/api/memories/search", agent_id=AGENT, query=QUESTION, top_k=5)[1]
expect(len(hits) == 5, "five hits")
expect(hits[0]["content"] == MEMORY, f"the memory comes first, not {hits[0]['content']}")
expect(call("DELETE", f"/api/memories/{ids[1]}")[0] in (200, 204), "deleted")
left = call("GET", "/api/memories", agent_id=AGENT, limit=20)[1]
expect(ids[1] not in [memory["id"] for memory in left], "what is deleted is not listed")
