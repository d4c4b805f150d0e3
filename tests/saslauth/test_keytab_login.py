"""Tickets from a keytab of a real KDC whose tickets live for seconds, and of one that goes away."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from saslauth import keytab_login as module
from saslauth.errors import SaslFailed
from saslauth.gssapi_client import GssapiClient
from saslauth.keytab_login import KeytabLogin, check_keytab
from tests.proxy import kdc
from tests.proxy.kdc import OURS, SERVERS, Kdc

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.slow

LIFE = 6.0  # seconds


@pytest.fixture
def realm(tmp_path: Path) -> Iterator[Kdc]:
    made = kdc.prepared(tmp_path, life=f"{LIFE:.0f}s")
    with pytest.MonkeyPatch.context() as to:
        for name, value in made.environment.items():
            to.setenv(name, value)
        to.setattr(module, "_RETRY", 0.2)
        yield made


def ticket(login: KeytabLogin) -> bytes:
    """The first token for a server."""
    return GssapiClient(login, SERVERS, "localhost").step(None)


def test_a_log_in_is_renewed_before_it_expires(realm: Kdc) -> None:
    login = KeytabLogin(OURS, SecretFile(realm.keytab(OURS)))
    with realm.answering():
        first = login.credentials()
        assert login.credentials() is first
        end = time.monotonic() + 2 * LIFE
        while time.monotonic() < end:
            assert login.credentials().lifetime > 0
            assert ticket(login)
            time.sleep(0.3)
        assert login.credentials() is not first


def test_tickets_are_used_while_the_kdc_is_away_and_renewed_when_it_is_back(realm: Kdc) -> None:
    login = KeytabLogin(OURS, SecretFile(realm.keytab(OURS)))
    with realm.answering():
        started = time.monotonic()
        assert ticket(login)
    time.sleep(max(0.0, started + LIFE / 2 + 0.5 - time.monotonic()))
    assert ticket(login), "the KDC is away, and half of the lifetime has passed"
    time.sleep(LIFE)
    with pytest.raises(SaslFailed, match=f"no ticket for {OURS}"):
        ticket(login)
    with realm.answering():
        time.sleep(0.3)
        assert ticket(login)


def test_many_threads_share_a_log_in_while_it_is_renewed(realm: Kdc) -> None:
    login = KeytabLogin(OURS, SecretFile(realm.keytab(OURS)))
    end = time.monotonic() + LIFE

    def work(_: int) -> int:
        done = 0
        while time.monotonic() < end:
            assert ticket(login)
            done += 1
        return done

    with realm.answering(), ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


def test_unusable_keytabs_are_refused(realm: Kdc) -> None:
    keytab = realm.keytab(OURS)
    with realm.answering():
        with pytest.raises(SaslFailed, match="no ticket for nobody@EXAMPLE"):
            KeytabLogin("nobody@EXAMPLE.COM", SecretFile(keytab)).credentials()
        keytab.chmod(0o644)
        with pytest.raises(SaslFailed, match="others can use it"):
            KeytabLogin(OURS, SecretFile(keytab)).credentials()
        with pytest.raises(BadSetting, match="others can use it"):
            check_keytab(OURS, SecretFile(keytab))
