"""A service that ends is started again, after pauses that grow; each end and start is printed."""

from pathlib import Path

import pytest

from cli.stack.plan import Service
from cli.stack.supervision import PAUSES, STEADY, Supervision
from conf.topology import Endpoint

_PATIENCE = 240.0


def service(name: str, port: int) -> Service:
    listens = (Endpoint("127.0.0.1", port),)
    return Service(name, (), {}, Path("/tmp"), Path(f"/log/{name}.log"), listens)


VIEW, EAST = service("view", 1), service("east", 2)


class World:
    """Processes, the ports that answer, and the time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.ended: dict[str, int] = {}
        self.started: list[str] = []
        self.answering = {1, 2}
        services = {each.name: each for each in (VIEW, EAST)}
        self.supervision = Supervision(
            self, services, lambda at: at.port in self.answering, _PATIENCE, lambda: self.now
        )

    def exit_status(self, name: str) -> int | None:
        return self.ended.get(name)

    def stop_one(self, name: str) -> None:
        self.started.append(f"-{name}")

    def start(self, service: Service) -> None:
        self.ended.pop(service.name, None)
        self.started.append(f"+{service.name}")

    def after(self, seconds: float) -> list[str]:
        self.now += seconds
        return list(self.supervision.step())


def test_a_service_that_ends_is_started_again_once_and_the_others_run_on() -> None:
    world = World()
    assert world.after(1) == []
    world.ended["view"] = -9
    world.answering.discard(1)
    text = "view ended with status -9 and restarts in 1 s; its log will be /log/view.log.1"
    assert world.after(1) == [text]
    assert world.after(0.5) == []
    assert world.started == []
    assert world.after(0.5) == []
    assert world.started == ["-view", "+view"]
    assert world.after(3) == []
    world.answering.add(1)
    assert world.after(1) == ["view answers again, 4.0 s after its start"]
    assert world.after(1) == []
    assert world.started == ["-view", "+view"]


def test_the_pauses_grow_while_it_keeps_ending_and_it_is_never_given_up() -> None:
    world, pauses = World(), []
    for _ in range(8):
        world.ended["view"] = 1
        (line,) = world.after(1)
        pauses.append(float(line.partition("restarts in ")[2].partition(" s")[0]))
        world.after(pauses[-1])
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1], PAUSES[-1]]
    assert world.started.count("+view") == 8
    world.after(1)  # it answers
    world.after(STEADY)
    world.ended["view"] = 1
    assert "restarts in 1 s" in world.after(0)[0]


def test_a_service_that_does_not_answer_counts_as_ended() -> None:
    world = World()
    world.ended["east"] = 1
    world.answering.discard(2)
    world.after(0)
    world.after(PAUSES[0])
    assert world.after(_PATIENCE) == []
    text = "east did not answer within 240 s and restarts in 2 s"
    assert world.after(1)[0].startswith(text)
    world.after(PAUSES[1])
    assert world.started == ["-east", "+east"] * 2


@pytest.mark.parametrize("seconds", [0.0, STEADY])
def test_a_stack_that_runs_well_is_left_alone(seconds: float) -> None:
    world = World()
    assert world.after(seconds) == []
    assert world.started == []
