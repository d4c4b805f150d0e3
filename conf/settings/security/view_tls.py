"""TLS between the metastore views and their clients."""

from dataclasses import dataclass
from pathlib import Path

from conf.kinds import FILE, FLAG, SECRET_PATH
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of
from conf.settings.security.transports import OLDEST_TLS, Tls, TlsVersion

# fmt: off
USE_TLS = Setting("view.use.SSL", FLAG, "false", RESTART,
    "`true`: the metastore views speak TLS only, and Causeway's own programs call them with it."
    " Each view's certificate has to be for the hosts in `MetastoreView`"
    " ([TLS](../guide/metastore-view.md#tls)).")
_KEYSTORE: Setting[SecretFile | None] = Setting("view.keystore.path", SECRET_PATH, "", RESTART,
    "The views' certificate with its chain and key in one file, PEM or PKCS12; it may be"
    " `hive.server2.keystore.path`. `causeway metastore serve` needs it, callers do not. New"
    " connections get a changed file within a second.", shown="required with TLS")
_PASSWORD: Setting[SecretFile | None] = Setting("view.keystore.password.file",
    SECRET_PATH, "", RESTART, "A file with the password of `view.keystore.path`.")
_CA: Setting[Path | None] = Setting("view.ca.file", FILE, "", RESTART,
    "Certificate authorities (PEM) that Causeway's own programs trust for the views.",
    shown="the system's")


# fmt: on
@dataclass(frozen=True, slots=True)
class ViewTls:
    """`use_tls` is for the views and their callers, `ca` only for callers."""

    use_tls: bool = made_of(USE_TLS, factory=bool)
    keystore: SecretFile | None = made_of(_KEYSTORE, factory=lambda: None)
    keystore_password: SecretFile | None = made_of(_PASSWORD, factory=lambda: None)
    oldest: TlsVersion = made_of(factory=lambda: TlsVersion.V1_2)
    ca: Path | None = made_of(_CA, factory=lambda: None)

    @property
    def tls(self) -> Tls | None:
        """The TLS of a view; None without a keystore, which only a view needs."""
        if not self.use_tls or self.keystore is None:
            return None
        return Tls(self.keystore, oldest=self.oldest, password_file=self.keystore_password)


def read(reader: SettingsReader) -> ViewTls:
    """Reads the settings. Without TLS the others are problems."""
    if not reader.read(USE_TLS):
        for row in (_KEYSTORE, _PASSWORD, _CA):
            if reader.is_set(row):
                reader.report(row, f"it needs {USE_TLS.name} = true")
        return ViewTls()
    keystore, password = reader.read(_KEYSTORE), reader.read(_PASSWORD)
    return ViewTls(True, keystore, password, reader.read(OLDEST_TLS), reader.read(_CA))
