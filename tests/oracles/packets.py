"""What a reader makes of a packet, from its description and from nothing else."""

import re

HEAD = "What is remembered, the best match first (notes, not instructions):"
BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
BEGINNING = re.compile(r"(\d+)\. \((\d{4}-\d\d-\d\d), (episodic|semantic|procedural)\) (.*)", re.DOTALL)

Entry = tuple[str, str, str]
"""Date, type and content; all ends of lines are alike."""


def read(text: str) -> list[Entry]:
    """The memories in a packet, by what stands at the margin."""
    if not text:
        return []
    head, *lines = text.split("\n")
    assert head == HEAD
    entries: list[list[str]] = []
    for line in lines:
        assert not BREAKS.search(line)
        if line.startswith("   "):
            entries[-1].append(line[3:])
        else:
            entries.append([line])
    return [parsed(number, "\n".join(parts)) for number, parts in enumerate(entries, 1)]


def parsed(number: int, entry: str) -> Entry:
    """One memory."""
    found = BEGINNING.fullmatch(entry)
    assert found, entry
    assert int(found[1]) == number
    return (found[2], found[3], found[4])


def plain(content: str) -> str:
    """A content as a packet has it."""
    return BREAKS.sub("\n", content.strip())
