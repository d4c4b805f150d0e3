"""Removes the marks of writes whose end was not seen: a process was killed, or a cluster was lost.

Theory: a write runs in a session of a Thrift Server, which ends with the connection that opened it.
CloseSession ends the session's statements. A server that answers that it has no such session has
closed it, or was restarted. So the write has ended as soon as the server answers CloseSession in
either way; only the last step of a cancelled statement may run a moment longer. CloseSession is
sent again until the server answers, as long as this process lives. It is not sent while the user's
session is alive: then only the connection of one call was lost.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import chain, repeat
from typing import Any, Protocol

from conf.errors import CausewayError
from metastore.placement.write_marks import WriteToken
from proxy.errors import ThriftServerError
from proxy.protocol.cluster_calls import RemoteSession, close_session_call
from proxy.protocol.replies import read_result, result_failure
from proxy.protocol.status import NO_SESSION
from proxy.record.incidents import internal_error
from proxy.session.replay.cluster_session import ClusterSession
from proxy.statement.running_writes.journal_store import JournaledWrite, WriteJournal
from proxy.upstream.upstream_pool import UpstreamPool
from thriftcodec.values import STRING, STRUCT, Struct

_log = logging.getLogger(__name__)
PAUSES = (0.2, 1.0, 5.0, 15.0)  # seconds between attempts; the last one is repeated
_CALL = 10.0  # seconds until a call times out
_GONE = (NO_SESSION, "Session does not exist")


class WriteMarks(Protocol):
    """Removes marks in the metastore (`proxy.statement.metastore_access.Loader`)."""

    async def close_write(self, token: Any) -> None: ...


class WriteRecovery:
    """The running writes of this process, and those that are being recovered."""

    def __init__(
        self,
        journal: WriteJournal,
        marks: WriteMarks,
        pool: UpstreamPool,
        group: asyncio.TaskGroup,
    ) -> None:
        self._journal = journal
        self._marks = marks
        self._pool = pool
        self._group = group
        self._sessions: dict[str, ClusterSession] = {}  # of this process's writes, by mark id

    def begin(self, token: WriteToken, session: ClusterSession) -> None:
        """Adds a write to the journal, before it is marked and sent to this session."""
        handle = _handle(session.session)
        write = JournaledWrite(token, session.cluster, session.endpoint, session.user, handle)
        self._journal.begin(write)
        self._sessions[token.id] = session

    def end(self, mark: str) -> None:
        """Removes a write from the journal, after its mark is removed."""
        self._sessions.pop(mark, None)
        self._journal.end(mark)

    def recover(self, mark: str, has_ended: bool = False) -> None:
        """Starts a task that removes the mark once its write has certainly ended. `has_ended`: the
        write has ended, and only the removal of the mark has failed."""
        self._begin(self._journal.writes[mark], has_ended)

    def take_over(self) -> None:
        """Starts the recovery of the writes of killed processes. Raises OSError."""
        for write in self._journal.take_over():
            _log.warning("recovering a write of %s, whose process ended", _tables(write))
            self._begin(write, has_ended=False)

    def close(self) -> None:
        self._journal.close()

    def _begin(self, write: JournaledWrite, has_ended: bool) -> None:
        self._group.create_task(self._run(write, has_ended))

    async def _run(self, write: JournaledWrite, has_ended: bool) -> None:
        try:
            await self._recover(write, has_ended)
        except Exception:
            internal_error(_log, "recovering a write")

    async def _recover(self, write: JournaledWrite, has_ended: bool) -> None:
        if not has_ended:
            await _until(lambda: self._end_session(write))
            await asyncio.sleep(self._pool.limits.linger)
        await _until(lambda: self._remove_mark(write.token))
        self.end(write.token.id)
        _log.warning("the mark of a write of %s is removed: %s", _tables(write), write.token.id)

    async def _end_session(self, write: JournaledWrite) -> bool:
        """Closes the write's session. Returns whether it is certainly closed."""
        session = self._sessions.get(write.token.id)
        if session is not None and session.alive:
            return False
        guid, secret = write.session
        handle = Struct({1: (STRING, guid), 2: (STRING, secret)})
        request = close_session_call(RemoteSession(Struct({1: (STRUCT, handle)})))
        with suppress(CausewayError, ThriftServerError, KeyError):  # KeyError: no longer configured
            async with self._pool.borrow(write.cluster, write.endpoint, write.user) as connection:
                reply = await connection.call("CloseSession", request, _CALL)
                failure = result_failure(read_result(reply, "CloseSession"))
            return failure is None or failure.message.startswith(_GONE)
        return False

    async def _remove_mark(self, token: WriteToken) -> bool:
        with suppress(CausewayError):
            await self._marks.close_write(token)
            return True
        return False


async def _until(attempt: Callable[[], Awaitable[bool]]) -> None:
    """Repeats the attempt until it succeeds."""
    for pause in chain(PAUSES, repeat(PAUSES[-1])):
        if await attempt():
            return
        await asyncio.sleep(pause)


def _handle(session: RemoteSession) -> tuple[bytes, bytes]:
    identifier = session.fields.get(1)
    assert isinstance(identifier, Struct)
    guid, secret = identifier.get(1), identifier.get(2)
    assert isinstance(guid, bytes)
    assert isinstance(secret, bytes)
    return guid, secret


def _tables(write: JournaledWrite) -> str:
    return ", ".join(str(each.table) for each in write.token.targets)
