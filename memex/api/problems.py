"""Errors to answers: the only place that knows status codes. A test holds the table to every error class."""

import logging
from typing import Any

import msgspec
from litestar.exceptions import HTTPException

from memex import errors, logs
from memex.api.bodies import ClientGone
from memex.api.replies import Header, Reply, json
from memex.errors import Invalid, MemexError, Problem, RateLimited

log = logging.getLogger("memex.api")

CLIENT_GONE = 499
STATUS: dict[type[MemexError], int] = {
    errors.MemexError: 500,
    errors.Invalid: 422,
    errors.BodyTooLarge: 413,
    errors.UnsupportedMedia: 415,
    errors.HostRefused: 403,
    errors.NotFound: 404,
    errors.VersionConflict: 412,
    errors.IdempotencyConflict: 409,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
    errors.Overloaded: 503,
    errors.StoreUnavailable: 503,
    errors.EncoderFailed: 503,
    errors.StoreFault: 500,
    # These end the process before it serves; here they would be a fault of ours.
    errors.StartupError: 500,
    errors.SettingsInvalid: 500,
    errors.AddressRefused: 500,
    errors.PortTaken: 500,
    errors.HomeUnusable: 500,
    errors.DatabaseUnreachable: 500,
    errors.DatabaseUnsuitable: 500,
    errors.SchemaTooNew: 500,
    errors.ModelMissing: 500,
    errors.ModelDamaged: 500,
    errors.ModelMismatch: 500,
    errors.BackupUnusable: 500,
}
# What HTTP itself is the matter with, not memex: status → code and text.
PROTOCOL = {
    400: ("bad_request", "The request cannot be understood."),
    404: ("route_not_found", "No such route."),
    405: ("method_not_allowed", "This route does not take this method. The Allow header lists those it takes."),
    408: ("request_timeout", "The request body did not arrive in time."),
    413: (errors.BodyTooLarge.code, str(errors.BodyTooLarge.__doc__)),
}
INTERNAL = "Internal error. The log has the details under this request id."


class ErrorBody(msgspec.Struct, frozen=True):
    """The one shape of every error."""

    detail: str | list[Problem]
    """What happened; for a request that is not valid, every fault of it."""
    code: str
    """Stable, for programs."""
    request_id: str
    """The same as the X-Request-ID header, and in the service's log."""


def reply(error: Exception, routes: str = "") -> Reply:
    """The answer to an error. What we did not foresee is logged with its trace and told to nobody.

    `routes` says where they are found, to whom asks for one that there is not.
    """
    if isinstance(error, MemexError):
        return known(error)
    if isinstance(error, ClientGone):
        return Reply(CLIENT_GONE)
    if isinstance(error, HTTPException) and error.status_code in PROTOCOL:
        code, text = PROTOCOL[error.status_code]
        said = f"{text} {routes}".rstrip() if error.status_code == 404 else text
        return answer(error.status_code, said, code, *allowed(error))
    log.error("unexpected %s", type(error).__name__, exc_info=error)
    return answer(500, INTERNAL, MemexError.code)


def known(error: MemexError) -> Reply:
    """One of our own tree."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    if status == 500:
        log.error("%s", error.code, exc_info=error)
        return answer(status, INTERNAL, error.code)
    detail: Any = list(error.problems) if isinstance(error, Invalid) else error.message
    return answer(status, detail, error.code, *headers(error))


def headers(error: MemexError) -> list[Header]:
    """When to come back, and what the limit is."""
    found: list[Header] = []
    if error.retry_after is not None:
        found.append((b"retry-after", b"%d" % error.retry_after))
    if isinstance(error, RateLimited):
        found += rate(error.limit, 0, error.reset)
    return found


def rate(limit: int, remaining: int, reset: int) -> list[Header]:
    """The limit a minute, what is left of it, and the seconds until it starts anew."""
    return [
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % remaining),
        (b"ratelimit-reset", b"%d" % reset),
    ]


def allowed(error: HTTPException) -> list[Header]:
    """The Allow header of a 405."""
    return [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]


def answer(status: int, detail: str | list[Problem], code: str, *found: Header) -> Reply:
    """The error's body under the current request's id."""
    return json(status, ErrorBody(detail, code, logs.request_id.get()), *found)
