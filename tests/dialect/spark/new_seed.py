"""Examples of a new seed in each run, bounded in time. Their differences are warnings."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from time import monotonic

_SHOWN = 5


def for_seconds(seconds: float, texts: Iterable[str]) -> Iterator[str]:
    """The texts of the next seconds; at least one."""
    end = monotonic() + seconds
    for text in texts:
        yield text
        if monotonic() > end:
            return


def warn_of(differences: Sequence[str], variables: str, file: str) -> None:
    """Show the differences, and the command that repeats them, in pytest's summary."""
    if differences:
        command = f"{variables} pytest -m e2e {os.path.relpath(file)}"
        shown = [each[:500] for each in differences[:_SHOWN]]
        warnings.warn("\n".join([f"{command}: {len(differences)}", *shown]), stacklevel=2)
