"""What schemathesis has to be told: how a stream of lines is sent."""

from typing import Any

from schemathesis.transport.requests import REQUESTS_TRANSPORT

GOOD = b'{"agent_id": "assistant", "user_id": "ana", "content": "Ana plays the cello"}\n'


@REQUESTS_TRANSPORT.serializer("application/x-ndjson")
def lines(context: Any, body: Any) -> dict[str, Any]:
    """Any text at all between two good lines."""
    return {"data": GOOD + str(body).encode("utf-8", "surrogatepass") + b"\n" + GOOD}
