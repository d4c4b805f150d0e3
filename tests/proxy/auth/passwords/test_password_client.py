"""Password back ends: a file that changes, and the operator's own callable."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from proxy.auth.passwords.password_client import CustomPasswords, FilePasswords
from proxy.auth.passwords.password_file import Hashed, password_line
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from tests.secret_files import private, readable


@pytest.mark.slow
def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text(password_line("ann", "one"))
    file = FilePasswords(readable(path))
    assert file.check("ann", "one") == "ann"
    for user, password in (("ann", "two"), ("bob", "one"), ("ann ", "one"), ("ann", "")):
        with pytest.raises(BadCredentials):
            file.check(user, password)
    path.write_text(password_line("ann", "two") + "\n" + password_line("bob@x", "one"))
    os.utime(path, ns=(1, 1))
    assert file.check("ann", "two") == "ann"
    assert file.check("bob@x", "one") == "bob"
    with pytest.raises(BadCredentials):
        file.check("ann", "one")


def test_concurrent_checks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check with scrypt needs much memory: two run at the same time, and the others wait."""
    two, lock, now, most = threading.Barrier(2, timeout=30.0), threading.Lock(), 0, 0

    def matches(hashed: Hashed, password: str) -> bool:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        two.wait()
        with lock:
            now -= 1
        return True

    file = tmp_path / "passwords"
    file.write_text(password_line("ann", "pw") + "\n")
    passwords = FilePasswords(readable(file))
    monkeypatch.setattr(Hashed, "matches", matches)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: passwords.check("ann", "pw"), range(8))) == {"ann"}
    assert most == 2


def test_no_login_succeeds_while_the_file_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text(good := password_line("ann", "one"))
    file = FilePasswords(readable(path))
    for text in (b"ann:one", b"\xff\xfeann:one"):
        path.write_bytes(text)
        with pytest.raises(AuthBackendUnavailable) as error:
            file.check("ann", "one")
        assert "one" not in str(error.value).replace(str(path), "")
    path.unlink()
    with pytest.raises(AuthBackendUnavailable):
        file.check("ann", "one")
    path.write_text(good)
    assert file.check("ann", "one") == "ann"


def test_an_invalid_file_is_a_bad_setting(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text("ann:one")
    with pytest.raises(BadSetting, match="line 1"):
        FilePasswords(readable(tmp_path / "passwords"))


OWN = """
ANSWERS = {"yes": True, "name": "anna@x", "one": 1, "none": None, "no": False}

def own(user, password):
    if password == "boom":
        raise RuntimeError(f"{user} said {password}")
    return ANSWERS.get(password)
"""


@pytest.fixture
def custom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CustomPasswords:
    (tmp_path / "doorman.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "doorman", raising=False)
    return CustomPasswords("doorman:own")


def test_only_true_or_a_name_accepts_the_user(custom: CustomPasswords) -> None:
    assert custom.check("ann@x", "yes") == "ann"
    assert custom.check("ann", "name") == "anna"
    for password in ("one", "none", "no", "other", "boom"):
        with pytest.raises(BadCredentials) as error:
            custom.check("ann", password)
        assert "said" not in str(error.value)
        assert error.value.__cause__ is None


@pytest.mark.parametrize("where", ["no_such_module:x", "doorman:no", "doorman:ANSWERS"])
def test_an_invalid_callable_is_a_bad_setting(custom: CustomPasswords, where: str) -> None:
    with pytest.raises(BadSetting):
        CustomPasswords(where)


def test_a_file_that_others_can_read_is_rejected(tmp_path: Path) -> None:
    path = private(tmp_path / "passwords", password_line("ann", "one"))
    file = FilePasswords(SecretFile(path))
    assert file.check("ann", "one") == "ann"
    path.chmod(0o644)
    with pytest.raises(AuthBackendUnavailable, match="others can use it"):
        file.check("ann", "one")
    with pytest.raises(BadSetting, match="others can use it"):
        FilePasswords(SecretFile(path))
