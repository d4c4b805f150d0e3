"""The properties of a feed that have a meaning here, their values, and their defaults. Pure.

Falcon's own names are `order`, `parallel` and `timeout`.
"""

from collections.abc import Iterator

from pipeline.falcon import validators
from pipeline.falcon.calendar import Frequency
from pipeline.falcon.errors import Problem
from pipeline.falcon.model import Feed, Policy, Retry
from pipeline.falcon.validators import Check

MAX_TOGETHER = 200  # instances of one run
MAX_RETRIES = 1000
_RETRIES = 3
_RETRY_DELAY = Frequency.parse("minutes(10)")

_CHECKS: dict[str, Check] = {
    "order": validators.one_of("FIFO", "LIFO", "LAST_ONLY"),
    "parallel": validators.integer(1, 100),
    "partitionsPerRun": validators.integer(1, MAX_TOGETHER),
    "timeout": validators.frequency,
    "propagateDeletes": validators.one_of("true", "false"),
    "retryPolicy": validators.one_of(*(each.value for each in Policy)),
    "retryDelay": validators.frequency,
    "retryAttempts": validators.integer(0, MAX_RETRIES),
}


def problems(feed: Feed) -> Iterator[Problem]:
    """The properties whose values cannot be used."""
    for name, value in feed.properties:
        check = _CHECKS.get(name)
        if check and (reason := check(value)):
            yield Problem(feed.line, "properties", f"{name}: {reason}")


def retry_of(feed: Feed, usual: Policy) -> Retry:
    """How failed work of a feed is repeated (FA-G4): `retryAttempts` more attempts after the first,
    with pauses by `retryPolicy`, or else by the `usual` policy, and `retryDelay`.
    """
    policy, delay = feed.property("retryPolicy"), feed.property("retryDelay")
    attempts = feed.property("retryAttempts")
    return Retry(
        Policy(policy) if policy else usual,
        Frequency.parse(delay) if delay else _RETRY_DELAY,
        int(attempts) if attempts else _RETRIES,
    )
