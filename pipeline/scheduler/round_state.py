"""What a round of the scheduler leaves for the rounds after it."""

import time
from collections.abc import Sequence
from datetime import datetime

from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.instances.instance import ScheduleKey
from pipeline.scheduler.instances.plan import StartRun, runs_alone

BLOCKED = 30.0  # seconds until the next try where another program works on the same data


class ReadPositions:
    """Where the next round continues in schedules that have more instances than one round looks at:
    the waiting ones, to check their inputs, and the ended ones.
    """

    def __init__(self) -> None:
        self._checked: dict[ScheduleKey, datetime] = {}
        self._ended: dict[ScheduleKey, datetime] = {}
        self._all_ended_read: set[ScheduleKey] = set()

    def pop_checked(self, key: ScheduleKey) -> datetime | None:
        """The last instance that was checked; None: the next round begins with the first."""
        return self._checked.pop(key, None)

    def put_checked(self, key: ScheduleKey, nominal: datetime) -> None:
        self._checked[key] = nominal

    def pop_ended(self, key: ScheduleKey) -> datetime | None:
        """The last ended instance that was read; None: the next round begins with the first."""
        return self._ended.pop(key, None)

    def put_ended(self, key: ScheduleKey, nominal: datetime | None) -> None:
        """`nominal` is that of the last ended instance that was read; None: it was the last one."""
        if nominal is None:
            self._all_ended_read.add(key)
        else:
            self._ended[key] = nominal

    def read_ended_again(self) -> None:
        """Lets the next round begin with the first ended instance of each schedule."""
        self._ended.clear()
        self._all_ended_read.clear()

    @property
    def all_seen(self) -> bool:
        """Whether the rounds have looked at all instances of all schedules."""
        return not self._checked and self._ended.keys() <= self._all_ended_read


class RunTurns:
    """Which runs may begin beside those under way. A run that has to be alone begins when all the
    others have ended; if one waits for that, the next round begins no other run.
    """

    def __init__(self) -> None:
        self.left_ready = False  # this round left a READY instance that a later one may start
        self._lone_run_waits = False  # this round left a run that has to be alone
        self._lone_run_is_next = False  # the round before left one

    def begin_round(self) -> None:
        self.left_ready = False
        self._lone_run_is_next, self._lone_run_waits = self._lone_run_waits, False

    def may_begin(self, run: StartRun, leases: Sequence[InstanceLease]) -> bool:
        """Whether the run may begin beside the runs that have these leases."""
        if any(runs_alone(each.before) for each in run.claims):
            self._lone_run_waits |= bool(leases)
            return not leases
        if any(runs_alone(each) for lease in leases for each in lease.instances):
            return False
        self.left_ready |= self._lone_run_is_next
        return not self._lone_run_is_next


class BlockedSchedules:
    """The schedules that wait some seconds, because another program works on the same data."""

    def __init__(self) -> None:
        self._next_tries: dict[ScheduleKey, float] = {}  # monotonic times

    def block(self, key: ScheduleKey) -> None:
        self._next_tries[key] = time.monotonic() + BLOCKED

    def is_blocked(self, key: ScheduleKey) -> bool:
        if time.monotonic() < self._next_tries.get(key, 0.0):
            return True
        self._next_tries.pop(key, None)
        return False

    def __bool__(self) -> bool:
        return bool(self._next_tries)
