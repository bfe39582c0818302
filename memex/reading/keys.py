"""Keys that callers give to requests which they may repeat."""

import re
from typing import Any

import msgspec

from memex.reading.faults import Faults, Loc
from memex.reading.fields import BAD

MAX_KEY = 255
VISIBLE = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY}}}")


class Key(msgspec.Struct, frozen=True):
    """A key, in a header or in an argument."""

    def read(self, value: Any, loc: Loc, faults: Faults) -> Any:
        """The text, unchanged."""
        if isinstance(value, str) and VISIBLE.fullmatch(value):
            return value
        faults.refuse(loc, f"a key is 1 to {MAX_KEY} visible characters of ASCII, without blanks", value)
        return BAD
