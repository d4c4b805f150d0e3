"""Settings of `lifecycle serve` that need each other."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.lifecycle import Lifecycle, MailTls
from conf.topology import Endpoint
from tests.conf.settings.reading import settings_from


def of(**values: str) -> Lifecycle:
    """Underscores stand for dots."""
    named = {f"lifecycle.{key.replace('_', '.')}": text for key, text in values.items()}
    return settings_from(named, "here").lifecycle


def test_defaults() -> None:
    assert of() == Lifecycle()


def test_the_port_is_on_this_machine_and_needs_a_token() -> None:
    with pytest.raises(BadSetting, match=r"lifecycle\.token\.file: missing"):
        of(port="15000")
    found = of(port="15000", token_file="/etc/token")
    assert found.port == Endpoint("127.0.0.1", 15000)
    assert found.token == SecretFile(Path("/etc/token"))
    assert of(host="0.0.0.0", port="1", token_file="/t").port == Endpoint("0.0.0.0", 1)


def test_mail_needs_a_server() -> None:
    with pytest.raises(BadSetting, match=r"lifecycle\.alert\.mail\.server: missing"):
        of(alert_mail_to="a@example.com")
    found = of(alert_mail_to="a@example.com, b@example.com", alert_mail_server="mail:25")
    assert found.mail_to == ("a@example.com", "b@example.com")
    assert found.mail_server == Endpoint("mail", 25)


@pytest.mark.parametrize(
    "values",
    [
        {"alert_webhook": "ftp://host/x"},
        {"alert_webhook": "http://"},
        {"alert_mail_to": "nobody", "alert_mail_server": "mail:25"},
    ],
)
def test_a_text_that_is_no_address_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(BadSetting):
        of(**values)


def test_a_mail_login_needs_encryption_and_a_password(tmp_path: Path) -> None:
    server = {"alert_mail_to": "a@example.com", "alert_mail_server": "mail:587"}
    with pytest.raises(BadSetting, match=r"mail\.tls: none"):
        of(**server, alert_mail_user="ann", alert_mail_password_file=str(tmp_path / "p"))
    with pytest.raises(BadSetting, match=r"mail\.password\.file: missing"):
        of(**server, alert_mail_user="ann", alert_mail_tls="starttls")
    file = str(tmp_path / "p")
    found = of(**server, alert_mail_user="ann", alert_mail_tls="tls", alert_mail_password_file=file)
    assert (found.mail_tls, found.mail_user) == (MailTls.TLS, "ann")
    assert str(found.mail_password) == file
