"""Changes of an instance's state."""

from pipeline.scheduler.instances.changes import rerun
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.scheduler.instances.schedules import HOUR, T0, instance


def test_a_rerun_resets_the_instance() -> None:
    failed = instance(0, InstanceState.FAILED, attempt=4, run=2, detail="no", recoveries=2)
    after = rerun(failed, T0 + 9 * HOUR).after
    assert (after.state, after.run, after.attempt, after.detail) == (
        InstanceState.WAITING,
        3,
        0,
        "",
    )
    assert after.created == T0 + 9 * HOUR
