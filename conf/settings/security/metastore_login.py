"""How Causeway logs in to the metastore and its views: Kerberos, delegation tokens, TLS."""

import re
from dataclasses import dataclass
from pathlib import Path

from conf.kinds import FILE, FLAG, SECRET_FILE, TEXT, SettingKind
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of, setting
from conf.settings.security.authentication import SERVICE_PRINCIPAL

VIEWS = "view.authentication = KERBEROS"
_CLIENT = re.compile(r"[^/@\s]+(/[^/@\s]+)?@[^/@\s]+")


def _client(text: str) -> str:
    if _CLIENT.fullmatch(text) is None:
        raise ValueError(f"neither name@REALM nor name/host@REALM: {text!r}")
    return text


# fmt: off
SASL = Setting("hive.metastore.sasl.enabled", FLAG, "false", RESTART,
    "`true`: the metastore is behind SASL ([from keytabs to a running system]"
    "(../guide/kerberos.md)): Causeway logs in to it with `metastore.login.keytab`, or with"
    " `metastore.login.token.file`.")
_SERVER = Setting("hive.metastore.kerberos.principal", SERVICE_PRINCIPAL, "", RESTART,
    "The metastore's service principal, `hive/_HOST@REALM`; `_HOST` is the host of its address.")
_USER = Setting("metastore.login.principal", SettingKind("principal", _client, empty=""), "",
    RESTART,
    "Causeway's own principal, `causeway@REALM` or `causeway/_HOST@REALM`, at the metastore, and at"
    " views and HDFS that ask for Kerberos. For work in the name of"
    " others (`lifecycle serve`) the metastore needs it in its `hadoop.proxyuser`.")
_KEYTAB: Setting[SecretFile | None] = Setting("metastore.login.keytab", SECRET_FILE, "", RESTART,
    "The file with the keys of `metastore.login.principal`. A changed file is used at the next"
    " log-in.")
_TOKEN: Setting[SecretFile | None] = Setting("metastore.login.token.file",
    SECRET_FILE, "", RESTART,
    "Instead of a keytab: a file with a delegation token of the metastore, Hadoop's file of tokens"
    " or the text of one. It is read for each connection, so that a program which renews the token"
    " can replace the file.")
TLS = Setting("hive.metastore.use.SSL", FLAG, "false", RESTART,
    "`true`: connections to the metastore are TLS. Its certificate has to be for the host of its"
    " address.")


@dataclass(frozen=True, slots=True)
class MetastoreLogin:
    """How Causeway logs in to the metastore. With `sasl` there is `token`, or there are `server`,
    `user` and `keytab`. Without it the last two are for the views."""

    sasl: bool = made_of(SASL, factory=bool)
    server: str = made_of(_SERVER, factory=str)
    user: str = made_of(_USER, factory=str)
    keytab: SecretFile | None = made_of(_KEYTAB, factory=lambda: None)
    token: SecretFile | None = made_of(_TOKEN, factory=lambda: None)
    tls: bool = made_of(TLS, factory=bool)
    truststore: Path | None = setting("hive.metastore.truststore.path", FILE, "", RESTART,
        "The authorities of the metastore's certificate, PEM or PKCS12.", shown="the system's")
    truststore_password: str = setting("hive.metastore.truststore.password", TEXT, "", RESTART,
        "The truststore's password.", secret=True)


# fmt: on
def read(reader: SettingsReader, views: bool) -> MetastoreLogin:
    """Reads the settings, and reports missing ones and those without effect. `views`: the views
    need Kerberos, so a keytab is needed whether the metastore needs it or not."""
    sasl, token, keytab = reader.read(SASL), reader.read(_TOKEN), reader.read(_KEYTAB)
    _report(reader, sasl, views)
    return reader.group(
        MetastoreLogin,
        sasl=sasl,
        server=reader.read(_SERVER),
        user=reader.read(_USER),
        keytab=keytab,
        token=token,
        tls=reader.read(TLS),
    )


def _report(reader: SettingsReader, sasl: bool, views: bool) -> None:
    given = [each for each in (_USER, _KEYTAB) if reader.is_set(each)]
    if views:
        for row in (_USER, _KEYTAB):
            if not reader.is_set(row):
                reader.report(row, f"missing; {VIEWS} needs it")
        if reader.is_set(_TOKEN):
            reader.report(_TOKEN, f"{VIEWS} needs a keytab instead")
        if sasl and not reader.is_set(_SERVER):
            reader.report(_SERVER, f"missing; {SASL.name} needs it")
    elif not sasl:
        for row in (*given, *((_TOKEN,) if reader.is_set(_TOKEN) else ())):
            reader.report(row, f"it needs {SASL.name} = true")
    elif reader.is_set(_TOKEN):
        for row in given:
            reader.report(row, f"{_TOKEN.name} is set, which replaces it")
    else:
        for row in (_SERVER, _USER, _KEYTAB):
            if not reader.is_set(row):
                reader.report(row, f"missing; {SASL.name} needs it, or {_TOKEN.name}")
