"""The readers still handle every input that `make fuzz` has kept."""

import pytest

from tests.fuzz.__main__ import CORPUS
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus(name: str) -> None:
    inputs = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    assert inputs
    for data in inputs:
        TARGETS[name](data)


def test_every_target_has_seeds_of_its_own() -> None:
    assert {name for name, _ in seeds()} == set(TARGETS)
