"""Every error of memex, in one tree.

MemexError
├── Invalid                 what the caller sent breaks the contract
├── BodyTooLarge            the body is over the limit
├── UnsupportedMedia        the body is not JSON
├── HostRefused             Host or Origin is not one of ours
├── NotFound                no such memory for this caller
├── VersionConflict         the memory is in another version than the caller's
├── IdempotencyConflict     the caller's key was used for another request
├── RateLimited             the caller's minute is used up
├── Unavailable             try again: nothing was done
│   ├── Overloaded          more work waits than can be done in time
│   ├── StoreUnavailable    PostgreSQL does not answer
│   └── EncoderFailed       the model could not embed the text
├── StoreFault              PostgreSQL refused a statement of ours: a fault of memex
└── StartupError            memex cannot start; the message says what to do
    ├── SettingsInvalid
    ├── AddressRefused
    ├── PortTaken
    ├── HomeUnusable
    ├── DatabaseUnreachable
    ├── DatabaseUnsuitable
    ├── SchemaTooNew
    ├── BackupUnusable
    ├── ModelMissing
    ├── ModelDamaged
    └── ModelMismatch

A class has one stable `code`. Surfaces (REST, MCP, the commands) turn codes into their own
shape; nothing below them knows of status codes.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One fault of one field of a request, in the shape that clients of the reference parse."""

    type: str
    """The kind of fault, as pydantic names it."""
    loc: tuple[str | int, ...]
    """Where: `body`, `query` or `path`, then names and positions."""
    msg: str
    """What is wrong, for people."""
    input: Any = None
    """What was sent, shortened if it is long."""


class MemexError(Exception):
    """Base of the tree. The message is for the caller: no SQL, path, trace or content."""

    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str = "", *, retry_after: int | None = None) -> None:
        """`retry_after` is in seconds, None where trying again is of no use."""
        super().__init__(message or (self.__doc__ or "").strip())
        self.retry_after = retry_after

    @property
    def message(self) -> str:
        """What happened and what to do, in one sentence."""
        return str(self.args[0])


class Invalid(MemexError):
    """The request is not valid."""

    code = "invalid_request"

    def __init__(self, problems: Sequence[Problem]) -> None:
        """`problems` names every faulty field, not only the first."""
        super().__init__()
        self.problems = tuple(problems)


class BodyTooLarge(MemexError):
    """The request body is over the limit."""

    code = "body_too_large"


class UnsupportedMedia(MemexError):
    """The request body must be JSON: send Content-Type: application/json."""

    code = "unsupported_media_type"


class HostRefused(MemexError):
    """This Host or Origin is not allowed. MEMEX_SERVER_ALLOWED_HOSTS widens the list."""

    code = "host_refused"


class NotFound(MemexError):
    """Memory not found or does not belong to this agent."""

    code = "not_found"


class VersionConflict(MemexError):
    """The memory has another version than you named. Nothing was changed; read it again."""

    code = "version_conflict"


class IdempotencyConflict(MemexError):
    """This key was used for another request. Nothing was done; use a new key for a new request."""

    code = "idempotency_conflict"


class RateLimited(MemexError):
    """Too many requests of this agent in the current minute."""

    code = "rate_limited"

    def __init__(self, message: str, *, limit: int, reset: int) -> None:
        """`limit` requests a minute; `reset` is the seconds until the minute ends, 1 to 60."""
        super().__init__(message, retry_after=reset)
        self.limit = limit
        self.reset = reset


class Unavailable(MemexError):
    """The service cannot answer right now. Nothing was done; try again."""

    code = "unavailable"

    def __init__(self, message: str = "", *, retry_after: int = 1) -> None:
        """`retry_after` is in seconds."""
        super().__init__(message, retry_after=retry_after)


class Overloaded(Unavailable):
    """The service is at its limit. Nothing was done; try again."""

    code = "overloaded"


class StoreUnavailable(Unavailable):
    """The database does not answer. Nothing was acknowledged; try again."""

    code = "store_unavailable"


class EncoderFailed(Unavailable):
    """The text could not be embedded. Nothing was stored; try again."""

    code = "encoder_failed"


class StoreFault(MemexError):
    """The service failed. The log has the details under this request id."""

    code = "store_fault"


class StartupError(MemexError):
    """memex cannot start."""

    code = "startup_failed"


class SettingsInvalid(StartupError):
    """A setting is not valid."""

    code = "settings_invalid"


class AddressRefused(StartupError):
    """Without keys memex serves loopback addresses only; MEMEX_AUTH_MODE=off opens it to others."""

    code = "address_refused"


class PortTaken(StartupError):
    """The port is in use."""

    code = "port_taken"


class HomeUnusable(StartupError):
    """The data directory cannot be used."""

    code = "home_unusable"


class DatabaseUnreachable(StartupError):
    """The database cannot be reached."""

    code = "database_unreachable"


class DatabaseUnsuitable(StartupError):
    """The database lacks something that memex needs."""

    code = "database_unsuitable"


class SchemaTooNew(StartupError):
    """The data was written by a newer memex: upgrade this one."""

    code = "schema_too_new"


class BackupUnusable(StartupError):
    """The backup cannot be made, or cannot be restored."""

    code = "backup_unusable"


class ModelMissing(StartupError):
    """The embedding model is missing."""

    code = "model_missing"


class ModelDamaged(StartupError):
    """The embedding model's files are damaged."""

    code = "model_damaged"


class ModelMismatch(StartupError):
    """The stored memories were embedded with another model."""

    code = "model_mismatch"
