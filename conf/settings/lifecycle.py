"""Settings of `causeway lifecycle serve`: its port, its alerts, and its catalog."""

import re
from dataclasses import dataclass
from enum import Enum

from conf.kinds import ENDPOINT, HTTP_URL, PORT, SECRET_PATH, TEXT, SettingKind, choice
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of, setting
from conf.topology import Endpoint


class MailTls(Enum):
    """`lifecycle.alert.mail.tls`: how the connection to the mail server is encrypted."""

    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


HIVE_CATALOG_SERVICE = "org.apache.falcon.catalog.HiveCatalogService"
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def _class_name(text: str) -> str:
    if text == HIVE_CATALOG_SERVICE:
        return ""
    if not _CLASS.fullmatch(text):
        raise ValueError(f"not package.module:Class: {text!r}")
    return text


def _addresses(text: str) -> tuple[str, ...]:
    addresses = tuple(each.strip() for each in text.split(","))
    for each in addresses:
        if "@" not in each or any(character.isspace() for character in each):
            raise ValueError(f"not a mail address: {each!r}")
    return addresses


# fmt: off
_HOST = Setting("lifecycle.host", TEXT, "127.0.0.1", RESTART,
    "Where `lifecycle serve` answers operators ([REST API](rest.md#lifecycle)).")
_PORT: Setting[int | None] = Setting("lifecycle.port", PORT, "", RESTART,
    "The port of `lifecycle serve`; without it there is none.")
_TOKEN: Setting[SecretFile | None] = Setting("lifecycle.token.file", SECRET_PATH, "", RESTART,
    "A file with the token that callers of `lifecycle.port` have to send, as for"
    " `proxy.admin.port`.",
    shown="required with a port")
_MAIL_TO: Setting[tuple[str, ...]] = Setting("lifecycle.alert.mail.to",
    SettingKind("list of mail addresses", _addresses, {"type": ["string", "array"]}, ()), "",
    RESTART, "Addresses that get the alerts by mail, separated by commas.")
_MAIL_SERVER: Setting[Endpoint | None] = Setting("lifecycle.alert.mail.server",
    ENDPOINT, "", RESTART,
    "The `host:port` of the SMTP server for mails of alerts and of `<notification>`.",
    shown="required with addresses")
_MAIL_TLS = Setting("lifecycle.alert.mail.tls", choice(MailTls), "none", RESTART,
    "`starttls` encrypts after the greeting (port 587), `tls` from the first byte (port 465). The"
    " certificate must be that of the server, by the system's certificate authorities.")
_MAIL_USER: Setting[str] = Setting("lifecycle.alert.mail.user", TEXT, "", RESTART,
    "The login at the mail server; needs `lifecycle.alert.mail.tls`.")
_MAIL_PASSWORD: Setting[SecretFile | None] = Setting("lifecycle.alert.mail.password.file",
    SECRET_PATH, "", RESTART,
    "A file with the password of `lifecycle.alert.mail.user`, read for each mail.",
    shown="required with a login")


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """`port` needs `token`; `mail_to` needs `mail_server`; `mail_user` needs `mail_tls` and
    `mail_password`.
    """

    port: Endpoint | None = made_of(_HOST, _PORT, factory=lambda: None)
    token: SecretFile | None = made_of(_TOKEN, factory=lambda: None)
    webhook: str | None = setting("lifecycle.alert.webhook", HTTP_URL, "", RESTART,
        "A URL that gets alerts as JSON by POST: failed and timed-out instances, late data and"
        " missed service levels, each once ([alerts](../guide/lifecycle.md#operate)).")
    mail_to: tuple[str, ...] = made_of(_MAIL_TO, factory=tuple)
    mail_server: Endpoint | None = made_of(_MAIL_SERVER, factory=lambda: None)
    mail_from: str = setting("lifecycle.alert.mail.from", TEXT, "causeway@localhost", RESTART,
        "The sender of mails of alerts and of `<notification>`.")
    mail_tls: MailTls = made_of(_MAIL_TLS, factory=lambda: MailTls.NONE)
    mail_user: str = made_of(_MAIL_USER, factory=str)
    mail_password: SecretFile | None = made_of(_MAIL_PASSWORD, factory=lambda: None)
    catalog_service: str = setting("catalog.service.impl",
        SettingKind("package.module:Class", _class_name, empty=""), "", RESTART,
        "A Python class that connects the lifecycle commands to another catalog than Hive"
        " metastores ([how](../guide/lifecycle.md#another-catalog)). Falcon's"
        f" `{HIVE_CATALOG_SERVICE}` is the default.")


# fmt: on
def read(reader: SettingsReader) -> Lifecycle:
    port = reader.read(_PORT)
    settings = reader.group(
        Lifecycle,
        port=port and Endpoint(reader.read(_HOST), port),
        token=reader.read(_TOKEN),
        mail_to=reader.read(_MAIL_TO),
        mail_server=reader.read(_MAIL_SERVER),
        mail_tls=reader.read(_MAIL_TLS),
        mail_user=reader.read(_MAIL_USER),
        mail_password=reader.read(_MAIL_PASSWORD),
    )
    if settings.port is not None and settings.token is None:
        reader.report(_TOKEN, f"missing; {_PORT.name} needs it")
    if settings.mail_to and settings.mail_server is None:
        reader.report(_MAIL_SERVER, f"missing; {_MAIL_TO.name} needs it")
    if settings.mail_user and settings.mail_tls is MailTls.NONE:
        reader.report(_MAIL_TLS, "none; a password is not sent without encryption")
    if settings.mail_user and settings.mail_password is None:
        reader.report(_MAIL_PASSWORD, f"missing; {_MAIL_USER.name} needs it")
    return settings
