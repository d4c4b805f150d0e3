import asyncio
from contextlib import suppress

from conf.names import TableRef
from metastore.view.locks.process_locks import ProcessLocks

ONE, TWO = TableRef("d", "one"), TableRef("d", "two")


def test_an_owner_takes_a_lock_again_and_others_wait_in_order() -> None:
    async def run() -> list[str]:
        locks, order = ProcessLocks(), []

        async def use(owner: str) -> None:
            await locks.acquire(owner, [ONE])
            order.append(owner)
            locks.release(owner, [ONE])

        await locks.acquire("a", [ONE, TWO])
        await locks.acquire("a", [ONE])
        waiting = [asyncio.ensure_future(use(each)) for each in "bc"]
        await asyncio.sleep(0)
        locks.release("a", [ONE])
        await asyncio.sleep(0)
        assert order == []
        locks.release("x", [ONE])  # not its owner
        locks.release("a", [ONE, TWO])
        await asyncio.gather(*waiting)
        assert not locks.is_locked(ONE)
        assert not locks.is_locked(TWO)
        return order

    assert asyncio.run(run()) == ["b", "c"]


def test_a_cancelled_owner_has_no_lock() -> None:
    async def run() -> None:
        locks = ProcessLocks()
        await locks.acquire("a", [TWO])
        waiting = asyncio.ensure_future(locks.acquire("b", [ONE, TWO]))
        await asyncio.sleep(0)
        assert locks.is_locked(ONE)
        locks.release("a", [TWO])  # the lock is b's, which is cancelled before it learns that
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert not locks.is_locked(ONE)
        assert not locks.is_locked(TWO)

    asyncio.run(run())
