"""The list of running copies for operators, with bytes and rates."""

import asyncio

from conf.logs.log_fields import with_log_fields
from conf.names import TableRef
from conf.progress import Progress, no_progress
from proxy.statement.copies.copier import CopyOrder, CopySummary
from proxy.statement.copies.running_copies import RunningCopies
from tests.proxy.fakes import until


def test_a_copy_is_shown_while_it_is_made() -> None:
    ends, now, told = asyncio.Event(), [100.0], []

    async def copier(order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        progress(30, 90)
        await ends.wait()
        raise OSError

    async def main() -> None:
        running = RunningCopies(copier, lambda: now[0])
        with with_log_fields(statement="abc"):
            copying = asyncio.ensure_future(
                running(
                    CopyOrder(TableRef("s", "t"), ((("ds", "1"),),), "west", "east"),
                    progress=lambda *bytes_: told.append(bytes_),
                )
            )
        await until(lambda: bool(told))
        now[0] += 2
        assert running.lines() == [
            {
                "table": "s.t",
                "partitions": 1,
                "source": "west",
                "target": "east",
                "statement": "abc",
                "began": 100.0,
                "bytes": 30,
                "total": 90,
                "seconds": 2.0,
                "rate": 15,
            }
        ]
        ends.set()
        await asyncio.wait({copying})
        assert running.lines() == []
        assert isinstance(copying.exception(), OSError)
        assert told == [(30, 90)]

    asyncio.run(main())
