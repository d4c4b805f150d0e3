"""A session over two clusters is one Spark session, by a model of Spark, in thousands of histories.

The proxy's own code runs: sessions, replay, analysis, decisions, statements; only the connections
to the clusters are stand-ins. CAUSEWAY_HISTORIES is how many histories there are,
CAUSEWAY_SEED the first one's seed.
"""

import asyncio
import os
import re
from collections import Counter

import pytest

from tests.sessions.histories import PINS, History
from tests.sessions.proxied import Proxied, metastore, plain
from tests.sessions.spark_model import Server, SparkSession

COUNT = int(os.environ.get("CAUSEWAY_HISTORIES", "75"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
LENGTH = 40

# What a statement may be refused for that a plain session runs.
REFUSALS = frozenset({"CW101", "CW103", "CW104", "CW105", "CW106", "CW203"})


async def live(seed: int, monkeypatch: pytest.MonkeyPatch, outcomes: Counter[str]) -> None:
    """Runs one history. A statement that the proxy refuses is not run in the plain session."""
    history = History(seed)
    opening = {**history.opening, "use:database": "d1"}
    direct = SparkSession(Server(metastore()), opening)
    proxied = Proxied(opening)
    proxied.patch(monkeypatch)
    statements: list[str] = []
    for number, sql in enumerate(history.statements(LENGTH)):
        if seed % 2 and number % 13 == 12:
            proxied.lose()
        got = await proxied.execute(sql)
        statements.append(f"{sql}  -- {got}")
        if sql in PINS:
            continue
        if isinstance(got, str) and got.startswith("CW"):
            outcomes[got] += 1
            assert got in REFUSALS, "\n".join([f"seed {seed}", *statements])
            assert justified(got, proxied, sql), "\n".join([f"seed {seed}", *statements])
            continue
        outcomes["error" if isinstance(got, str) else "rows"] += 1
        wanted = plain(direct, sql)
        same = got == wanted or sql.startswith("USE ")
        assert same, "\n".join([f"seed {seed}: a plain session says {wanted}", *statements])


def justified(code: str, proxied: Proxied, sql: str) -> bool:
    """Whether the session's state may justify a refusal with this code."""
    if code == "CW106":
        return bool(proxied.state.objects.homes())
    if code == "CW103":  # a table that is there is the new name of one that is not
        return proxied.state.pinned is not None and "RENAME TO" in sql
    if code in ("CW104", "CW105"):
        return proxied.state.pinned is not None or "JOIN" in str(proxied.state.objects) + sql
    if code == "CW101":
        text = sql + str(proxied.state.objects)
        of_text = re.search(r"IDENTIFIER\(|EXECUTE IMMEDIATE .*\|\|", text)
        return "FROM ${" in sql or "global_temp" in text or of_text is not None
    return True


@pytest.mark.slow
def test_a_session_is_a_plain_spark_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: Counter[str] = Counter()

    async def all_of_them() -> None:
        for seed in range(SEED, SEED + COUNT):
            await live(seed, monkeypatch, outcomes)

    asyncio.run(all_of_them())
    with capsys.disabled():
        print(f"\n{COUNT} histories from seed {SEED}: {dict(outcomes)}")
    refused = sum(outcomes[code] for code in REFUSALS)
    assert outcomes["rows"] > outcomes["error"] > 0
    assert refused < 0.25 * outcomes.total(), "most of a session is served"
