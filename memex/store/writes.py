"""The writing half of the store: what arrives together is committed together.

Writes that arrive while a commit is in flight form the next group, so there is no timer: alone a
write goes at once, and under load a group is as large as what one commit lets arrive.
"""

import asyncio
import logging
from collections import deque
from uuid import UUID

from memex.errors import MemexError, NotFound, Overloaded, StoreFault, StoreUnavailable
from memex.metrics import Metrics
from memex.model import Scope, Space
from memex.store import wire
from memex.store.connection import Connection
from memex.store.groups import Member, Outcome, commit
from memex.store.pool import Pool
from memex.store.queries import load
from memex.store.rows import Write, Written, encode

log = logging.getLogger(__name__)

LOCATE = load("locate")
GROUP = 128
"""Most changes of one commit: what waits behind it is not kept long."""
WAITING = 1024
"""Changes that may wait; one more is refused with 503 at once."""


class Writes:
    """One process's writes and deletes, in the order they came."""

    def __init__(self, pool: Pool, metrics: Metrics, command_timeout: float) -> None:
        """`command_timeout` in seconds is the longest that a caller waits."""
        self._pool = pool
        self._metrics = metrics
        self._seconds = command_timeout
        self._waiting: deque[Member] = deque()
        self._wanted = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to commit."""
        self._closing = False
        self._task = asyncio.create_task(self._serve())

    async def close(self) -> None:
        """Take no more, and commit what waits."""
        self._closing = True
        self._wanted.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def write(self, write: Write) -> Written:
        """Store one memory; returns after its commit.

        Raises StoreUnavailable or Overloaded (nothing was acknowledged) or StoreFault (PostgreSQL
        refused the row). A caller who leaves before its group began has written nothing.
        """
        place = asyncio.get_running_loop().create_future()
        outcome = await self._outcome(Member(write.space, place, encode(write), write.model_id))
        if not isinstance(outcome, Written):
            raise TypeError("a write ends as a memory")
        return outcome

    async def delete(self, scope: Scope, memory_id: UUID, user_id: str | None) -> None:
        """Delete a memory of the scope's own agent, and of the user where one is named. Raises NotFound."""
        if user_id is None:
            user_id = await self._pool.run(locate, scope, memory_id)
        place = asyncio.get_running_loop().create_future()
        space = Space(scope.tenant_id, user_id)
        member = Member(space, place, agent_id=scope.agent_id, memory_id=memory_id.bytes)
        if not await self._outcome(member):
            raise NotFound

    async def _outcome(self, member: Member) -> Outcome:
        """Queue a change and wait for what becomes of it."""
        if self._closing or self._task is None:
            raise StoreUnavailable
        if len(self._waiting) >= WAITING:
            raise Overloaded
        self._waiting.append(member)
        self._wanted.set()
        try:
            async with asyncio.timeout(self._seconds):
                return await member.outcome
        except TimeoutError as error:
            raise StoreUnavailable from error

    async def _serve(self) -> None:
        """Commit group after group until closed and empty."""
        while self._waiting or not self._closing:
            await self._wanted.wait()
            self._wanted.clear()
            while group := self._group():
                await self._commit(group)
            if self._closing:
                self._wanted.set()

    def _group(self) -> list[Member]:
        """The next members, without those whose callers have gone."""
        group: list[Member] = []
        while self._waiting and len(group) < GROUP:
            member = self._waiting.popleft()
            if not member.outcome.done():
                group.append(member)
        return group

    async def _commit(self, group: list[Member]) -> None:
        """One group to its end: every member has an outcome after it."""
        self._metrics.group_rows.observe(len(group))
        try:
            await self._pool.run(commit, group)
        except MemexError as error:
            for member in group:
                member.fail(type(error)(error.message))
        except Exception:
            log.exception("a group of writes failed")
            for member in group:
                member.fail(StoreFault())


async def locate(connection: Connection, scope: Scope, memory_id: UUID) -> str:
    """The user whose memory it is. Raises NotFound where it is not one of the scope's own agent."""
    parameters = (wire.Wire(wire.UUID, memory_id.bytes), wire.text(scope.agent_id), wire.text(scope.tenant_id))
    row = await (await connection.execute(LOCATE, parameters, binary=True)).fetchone()
    if row is None:
        raise NotFound
    return str(row[0])
