"""Keys among the arguments of tools: what a call that is repeated is known by."""

from memex.mcp.arguments import ARGUMENTS, Json
from memex.reading.faults import Faults
from memex.reading.keys import MAX_KEY, Key

NAME = "idempotency_key"
KEYED: dict[str, Json] = {
    NAME: {
        "type": "string",
        "description": "Your id of this call: give it again to retry, it is done once.",
        "maxLength": MAX_KEY,
    }
}

KEY = Key()


def apart(given: Json, faults: Faults) -> tuple[Json, str | None]:
    """The arguments that say what is wanted, and the key; that is good only if no fault was added."""
    rest = {name: value for name, value in given.items() if name != NAME}
    written = given.get(NAME)
    return rest, None if written is None else KEY.read(written, (*ARGUMENTS, NAME), faults)
