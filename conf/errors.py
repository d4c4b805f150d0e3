"""The base classes of every error that a user may see, and the errors of settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Blame(Enum):
    """The one who has to act on an error. It decides the level of the log line."""

    CLIENT = "client"
    CLUSTER = "cluster"
    METASTORE = "metastore"
    DIRECTORY = "directory"  # LDAP, Kerberos, the issuer of tokens, the name service
    CAUSEWAY = "causeway"


class CausewayError(Exception):
    """An error with a stable `code` (CWnnn), a SQLSTATE, the one to `blame`, and a hint what to do.

    The errors of each package are in its `errors.py`; docs/reference/errors.md lists them all.
    """

    code: ClassVar[str]
    sqlstate: ClassVar[str] = "HY000"
    blame: ClassVar[Blame] = Blame.CLIENT
    hint: ClassVar[str] = ""

    def __str__(self) -> str:
        text = super().__str__()
        if not self.hint:
            return f"[{self.code}] {text}"
        stop = "" if text.endswith((".", "!", "?")) else "."
        return f"[{self.code}] {text}{stop} {self.hint}"


def codes() -> set[str]:
    """The codes of all errors whose packages this process has imported."""
    known: set[str] = set()
    classes = CausewayError.__subclasses__()
    while classes:
        each = classes.pop()
        classes += each.__subclasses__()
        if "code" in vars(each):
            known.add(each.code)
    return known


class UnreadableSettings(CausewayError):
    """A settings file is missing or not of its format."""

    code = "CW501"
    sqlstate = "F0000"


@dataclass(frozen=True, slots=True)
class Problem:
    """A wrong setting: its name, the reason, and what to write instead."""

    name: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class BadSetting(CausewayError):
    """A setting's value is wrong; the message names file, key and reason."""

    code = "CW502"
    sqlstate = "F0000"
    hint = "docs/reference/settings.md describes every setting."


class BadSettings(BadSetting):
    """A settings file with one problem or more."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        super().__init__(f"{source}: {'; '.join(map(str, problems))}.")
        self.problems = tuple(problems)


class BadCertificate(CausewayError):
    """A keystore has no certificate with its key."""

    code = "CW214"
    hint = "Put the certificate, its chain and its key into one PEM or PKCS12 file."
