"""What a data set is to a memory service: texts to store, and questions with the texts that answer them."""

import msgspec


class Memory(msgspec.Struct, frozen=True):
    """One text to store. `name` is unique within the data set; only memories of the same `user` are searched."""

    name: str
    user: str
    text: str
    session: str | None = None
    """The conversation that it is from."""
    when: str | None = None
    """When it was said, ISO 8601."""


class Question(msgspec.Struct, frozen=True):
    """What is asked of one user's memories. `relevant` maps names to their grade; a grade above 0 is an answer."""

    user: str
    text: str
    relevant: dict[str, float]
    category: str


class Dataset(msgspec.Struct, frozen=True):
    """All of it. `left_out` counts what the files hold that cannot be measured, by reason."""

    name: str
    memories: list[Memory]
    questions: list[Question]
    left_out: dict[str, int] = {}

    @property
    def users(self) -> set[str]:
        """Everyone who has memories."""
        return {memory.user for memory in self.memories}
