"""What a look at an instance's inputs means: are they there, which ones, what do they look like.

A look has an answer for each need. Needs that count (`latest`, `future`) are candidates, best
first; those that exist are counted, and the span that the process asked for is taken. Pure.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pipeline.falcon.calendar import format_time, parse_time
from pipeline.scheduler.schedule import Need

Seen = Mapping[Need, str | None]
"""What each need's data looks like; None when it is not there."""


def fingerprint(needs: Sequence[Need], seen: Seen) -> str | None:
    """By input name what the data looks like; None when something needed is missing."""
    if missing(needs, seen):
        return None
    found: dict[str, list[str]] = {}
    for need in needs:
        if need.span is None:
            found.setdefault(need.name, []).append(seen.get(need) or "")
    for name in _counting(needs):
        taken = _taken(name, needs, seen)
        found[name] = [f"{format_time(each.time)}={seen.get(each)}" for each in taken]
    return json.dumps({name: "|".join(looks) for name, looks in found.items()}, sort_keys=True)


def missing(needs: Sequence[Need], seen: Seen) -> str:
    """The first input that is not there, for people; empty when all are."""
    for need in needs:
        if need.span is None and seen.get(need) is None and not need.optional:
            return f"{need.name}: feed {need.feed} {format_time(need.time)} on {need.cluster}"
    for name, first in _counting(needs).items():
        assert first.span is not None
        wanted, there = first.span.stop, len(_existing(name, needs, seen))
        if there < wanted and not first.optional:
            where = f"feed {first.feed} on {first.cluster}"
            return f"{name}: {there} of {wanted} instances of {where}"
    return ""


def read(needs: Iterable[Need], print_: str) -> list[Need]:
    """Of an instance's needs those that it reads, in order of time: all that do not count, and
    of the others those that its fingerprint says were taken; none while it has no fingerprint.
    """
    known: dict[str, str] = json.loads(print_) if print_ else {}
    taken: dict[str, set[datetime]] = {}
    chosen = []
    for need in needs:
        if need.span is None:
            chosen.append(need)
            continue
        if need.name not in taken:
            looks = filter(None, known.get(need.name, "").split("|"))
            taken[need.name] = {parse_time(look.partition("=")[0]) for look in looks}
        if need.time in taken[need.name]:
            chosen.append(need)
    return sorted(chosen, key=lambda need: need.time)


def _counting(needs: Iterable[Need]) -> dict[str, Need]:
    """The inputs that count, by name, each with its first candidate."""
    found: dict[str, Need] = {}
    for need in needs:
        if need.span is not None:
            found.setdefault(need.name, need)
    return found


def _existing(name: str, needs: Iterable[Need], seen: Seen) -> list[Need]:
    return [each for each in needs if each.name == name and seen.get(each) is not None]


def _taken(name: str, needs: Iterable[Need], seen: Seen) -> list[Need]:
    there = _existing(name, needs, seen)
    spans = (each.span for each in there)
    span = next((span for span in spans if span is not None), None)
    taken = [] if span is None else there[span.start : span.stop]
    return sorted(taken, key=lambda need: need.time)
