"""The tokens and TLS of the ports for operators, `proxy.admin.port` and `lifecycle.port`."""

from dataclasses import dataclass
from pathlib import Path

from conf.kinds import FILE, FLAG, SECRET_PATH
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, SettingsReader, group, made_of, setting
from conf.settings.security.operator_issuer import OperatorIssuer
from conf.settings.security.transports import OLDEST_TLS, Tls, TlsVersion


# fmt: off
@dataclass(frozen=True, slots=True)
class OperatorAccess:
    """Tokens and TLS of both ports. Each port has its own setting for administrators' tokens."""

    operators: SecretFile | None = setting("proxy.admin.operator.token.file",
        SECRET_PATH, "", RESTART,
        "A file with the tokens of [operators](../guide/security.md#the-ports-for-operators), for"
        " `lifecycle.port` too: they see everything, kill statements and sessions, and change"
        " instances, feeds and processes.")
    viewers: SecretFile | None = setting("proxy.admin.viewer.token.file",
        SECRET_PATH, "", RESTART,
        "A file with the tokens of viewers, for `lifecycle.port` too: they see everything.")
    use_tls: bool = setting("proxy.admin.use.SSL", FLAG, "false", RESTART,
        "`true`: TLS on the ports for operators, `proxy.admin.port` and `lifecycle.port`; `causeway"
        " admin` and the console use it, and check the certificate and the name.")
    keystore: SecretFile | None = setting("proxy.admin.keystore.path", SECRET_PATH, "", RESTART,
        "The certificate of the ports for operators with its chain and key in one file, PEM or"
        " PKCS12; it may be `hive.server2.keystore.path`. New connections get a changed file within"
        " 10 s.",
        shown="required with TLS")
    keystore_password: SecretFile | None = setting("proxy.admin.keystore.password.file",
        SECRET_PATH, "", RESTART, "A file with the password of `proxy.admin.keystore.path`.")
    oldest: TlsVersion = made_of(factory=lambda: TlsVersion.V1_2)
    ca: Path | None = setting("proxy.admin.ca.file", FILE, "", RESTART,
        "Certificate authorities (PEM) that `causeway admin` and the console trust for the ports"
        " for operators.", shown="the system's")
    issuer: OperatorIssuer = group(OperatorIssuer)

    @property
    def tls(self) -> Tls | None:
        """The TLS of a port; None without a keystore, which only a port needs."""
        if not self.use_tls or self.keystore is None:
            return None
        return Tls(self.keystore, oldest=self.oldest, password_file=self.keystore_password)


# fmt: on
def read(reader: SettingsReader) -> OperatorAccess:
    return reader.group(
        OperatorAccess, oldest=reader.read(OLDEST_TLS), issuer=reader.group(OperatorIssuer)
    )
