"""User names, derived from log-in names and principals as HiveServer2 does."""

import re
import unicodedata

from conf.auth_to_local import AuthToLocal, NoLocalName
from saslauth.errors import BadCredentials

_MAX_NAME = 256
# Characters that a directory ignores (RFC 4518, 2.2) although `str.isprintable` accepts them.
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DOTLESS_I = "\u0131"


def short_name(name: str) -> str:
    """HiveServer2's session user: the name before its first `/` or `@`, if that is not empty."""
    ends = [at for at in (name.find("/"), name.find("@")) if at > 0]
    return name[: min(ends)] if ends else name


def login_name(typed: str) -> str:
    """A typed name in Unicode's form NFKC, in which SASL PLAIN compares names (RFC 4616).

    Raises BadCredentials for white space at the ends or doubled, for ignored characters and for
    control characters: to a directory `ann ` is `ann`, but to the clusters it is another user.
    """
    name = unicodedata.normalize("NFKC", typed[: _MAX_NAME + 1])
    plain = name == " ".join(name.split()) and name.isprintable() and not _IGNORED.search(name)
    if not name or len(name) > _MAX_NAME or not plain:
        raise BadCredentials("not a valid user name")
    return name


def throttle_key(user: str) -> str:
    """A key that is equal for all names that a directory may accept for the same user: it leaves
    out the domain, case, accents, white space and compatible forms of letters.

    Only for counting failures: two users with similar names share a key.
    """
    name = short_name(unicodedata.normalize("NFKC", user[: 4 * _MAX_NAME]))
    letters = unicodedata.normalize("NFKD", name.casefold().replace(_DOTLESS_I, "i"))
    kept = "".join(each for each in letters if unicodedata.category(each)[0] not in "MCZ")
    return unicodedata.normalize("NFKC", _IGNORED.sub("", kept)).casefold() or user


def name_of_principal(principal: str, realm: str, rules: AuthToLocal | None = None) -> str:
    """The user's name for a principal by these rules. The default is Hadoop's rule: the first
    component of a principal of `realm`.

    Raises BadCredentials for a principal without a usable name.
    """
    try:
        return login_name((rules or AuthToLocal()).name(principal, realm))
    except NoLocalName as error:
        raise BadCredentials(str(error)) from None
