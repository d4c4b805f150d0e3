"""Delegation tokens of the views: issued by one process, known to all."""

from dataclasses import replace
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from metastore.view.server.clients.caller_tokens import CallerTokens
from saslauth.errors import BadCredentials
from saslauth.tokens.delegation_token import DelegationToken, text_of_token, token_of_text
from saslauth.tokens.token_identifier import read_identifier
from tests.secret_files import private

FIRST, SECOND = "a" * 32, "b" * 44
HOUR = 3_600.0
SPARK = "spark-west/h@R"


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return private(tmp_path / "keys", f"{FIRST}\n")


def tokens(keys: Path, clock: Clock) -> CallerTokens:
    return CallerTokens(SecretFile(keys), HOUR, clock)


def test_every_process_knows_the_token(keys: Path, clock: Clock) -> None:
    text = tokens(keys, clock).issue("ann", "hive", SPARK)
    token, other = token_of_text(text), tokens(keys, clock)
    assert token.kind == "HIVE_DELEGATION_TOKEN"
    assert other.password(token.identifier) == token.password
    found = other.read(token.identifier)
    assert (found.owner, found.renewer, found.real_user) == ("ann", "hive", SPARK)
    assert found == other.check(text)
    assert found.ends - found.issued == HOUR * 1000
    assert tokens(keys, clock).issue("ann", "hive", SPARK) != text


def test_a_token_ends(keys: Path, clock: Clock) -> None:
    ours = tokens(keys, clock)
    text = ours.issue("ann", "", SPARK)
    clock.now += HOUR - 1
    ours.check(text)
    clock.now += 1
    with pytest.raises(BadCredentials, match="the token of ann has ended"):
        ours.check(text)


def test_a_changed_token_is_not_known(keys: Path, clock: Clock) -> None:
    ours = tokens(keys, clock)
    token = token_of_text(ours.issue("ann", "", SPARK))
    identifier = read_identifier(token.identifier)
    for changed in (
        replace(identifier, owner="bob"),
        replace(identifier, real_user="spark-east/h@R"),
        replace(identifier, ends=identifier.ends + 1),
        replace(identifier, key=identifier.key ^ 1),
    ):
        made = DelegationToken(changed.encoded(), token.password)
        with pytest.raises(BadCredentials):
            ours.check(text_of_token(made))
    for text in ("", "x", "%", text_of_token(DelegationToken(b"", b""))):
        with pytest.raises(BadCredentials):
            ours.check(text)


def test_keys_are_changed_without_a_restart(keys: Path, clock: Clock) -> None:
    ours = tokens(keys, clock)
    old = ours.issue("ann", "", SPARK)
    private(keys, f"{SECOND}\n{FIRST}\n")
    new = ours.issue("ann", "", SPARK)
    ours.check(old)
    private(keys, f"{SECOND}\n")
    ours.check(new)
    with pytest.raises(BadCredentials, match="a key that"):
        ours.check(old)


@pytest.mark.parametrize("text", ["", "\n", "short", f"{FIRST}\nshort"])
def test_a_file_without_good_keys(keys: Path, clock: Clock, text: str) -> None:
    ours = tokens(keys, clock)
    private(keys, text)
    with pytest.raises(BadSetting, match="at least 32 characters"):
        tokens(keys, clock)
    with pytest.raises(BadCredentials, match="at least 32 characters"):
        ours.issue("ann", "", SPARK)


def test_a_file_that_others_read_is_not_used(keys: Path, clock: Clock) -> None:
    keys.chmod(0o644)
    with pytest.raises(BadSetting, match="chmod 600"):
        tokens(keys, clock)
