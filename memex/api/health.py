"""/health, /livez, /readyz and /metrics: what operators ask."""

import asyncio

import msgspec
from litestar.types import ASGIApp

from memex.api.replies import Reply, json
from memex.api.routes import Answer, Connection, Operation, Route
from memex.metrics import CONTENT_TYPE, Metrics
from memex.service import HealthReport, Services


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: str = "ok"
    """Always `ok`."""


class Readiness(msgspec.Struct, frozen=True):
    """Whether requests can be taken, and what of it holds."""

    status: str
    """`ready` or `not ready`."""
    checks: dict[str, bool]
    """`store` answers, `schema` is ours, stored memories are of our `model`: all must hold."""


SOON = (b"retry-after", b"1")
ALL = {"store": True, "schema": True, "model": True}

HEALTH = Operation(
    method="GET",
    path="/health",
    name="health",
    summary="Whether the service and its database work",
    tag="operations",
    head=True,
    answers=(
        Answer(200, "All is well.", HealthReport, example={"status": "ok", "db": "ok", "version": "0.1.0"}),
        Answer(
            503,
            "The database does not answer.",
            HealthReport,
            example={"status": "degraded", "db": "error", "version": "0.1.0"},
        ),
    ),
)
LIVE = Operation(
    method="GET",
    path="/livez",
    name="livez",
    summary="Whether the process is alive",
    text="Asks nothing else: restart the process when this fails.",
    tag="operations",
    head=True,
    constant=True,
    answers=(Answer(200, "Alive.", Alive, example={"status": "ok"}),),
)
READY = Operation(
    method="GET",
    path="/readyz",
    name="readyz",
    summary="Whether requests can be served",
    text="Send no traffic while this fails.",
    tag="operations",
    head=True,
    answers=(
        Answer(200, "Ready.", Readiness, example={"status": "ready", "checks": ALL}),
        Answer(503, "Not ready.", Readiness, example={"status": "not ready", "checks": dict.fromkeys(ALL, False)}),
    ),
)
METRICS = Operation(
    method="GET",
    path="/metrics",
    name="metrics",
    summary="Prometheus metrics of all workers",
    tag="operations",
    answers=(Answer(200, "Prometheus text.", media="text/plain"),),
)


def routes(services: Services, metrics: Metrics) -> list[Route]:
    """The routes for operators."""

    async def live(request: Connection) -> ASGIApp:
        return json(200, Alive())

    async def ready(request: Connection) -> ASGIApp:
        checks = await services.health.ready()
        good = all(checks.values())
        return json(200, Readiness("ready", checks)) if good else json(503, Readiness("not ready", checks), SOON)

    async def scrape(request: Connection) -> ASGIApp:
        # With several workers this reads all of their files: too long for the event loop.
        text = await asyncio.to_thread(metrics.render)
        return Reply(200, text, (b"content-type", CONTENT_TYPE.encode()))

    return [report(services), Route(LIVE, live), Route(READY, ready), Route(METRICS, scrape)]


def report(services: Services, path: str = HEALTH.path, name: str = HEALTH.name) -> Route:
    """The health report under one of its addresses."""

    async def handle(request: Connection) -> ASGIApp:
        found = await services.health.check()
        return json(200, found) if found.status == "ok" else json(503, found, SOON)

    return Route(msgspec.structs.replace(HEALTH, path=path, name=name), handle)
