"""The names of users, as HiveServer2 makes them of what was proved."""

import re
import unicodedata

from proxy.auth.errors import Wrong

_LONGEST = 256
# Characters without a shape of their own, which a directory leaves out (RFC 4518, 2.2), beside
# those that Python does not call printable.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DOTLESS_I = "\u0131"


def short_name(proved: str) -> str:
    """HiveServer2's session user: what is before the first `/` or `@`, where that is something."""
    ends = [at for at in (proved.find("/"), proved.find("@")) if at > 0]
    return proved[: min(ends)] if ends else proved


def said_name(user: str) -> str:
    """A name as a client typed it, in Unicode's form NFKC, as SASL PLAIN has names compared
    (RFC 4616): a name in full-width letters is the same name. Raises Wrong.

    White space at the ends or doubled, characters without a shape and control characters are
    refused: a directory takes `ann ` for `ann`, and the clusters would know them as two.
    """
    name = unicodedata.normalize("NFKC", user[: _LONGEST + 1])
    plain = name == " ".join(name.split()) and name.isprintable() and not _SHAPELESS.search(name)
    if not name or len(name) > _LONGEST or not plain:
        raise Wrong("not a name that anybody has")
    return name


def person(user: str) -> str:
    """A key that is the same for all names which a directory may take for one person's, whatever
    the domain, case, accents, white space and compatible forms of letters.

    For counting attempts alone: two people whose names look alike share it.
    """
    name = short_name(unicodedata.normalize("NFKC", user[: 4 * _LONGEST]))
    letters = unicodedata.normalize("NFKD", name.casefold().replace(_DOTLESS_I, "i"))
    kept = "".join(each for each in letters if unicodedata.category(each)[0] not in "MCZ")
    return unicodedata.normalize("NFKC", _SHAPELESS.sub("", kept)).casefold() or user


def name_of_principal(principal: str, realm: str) -> str:
    """Hadoop's default rule of auth_to_local: the first component of a principal of our own
    realm; nobody else's. Raises Wrong."""
    name, at, where = principal.rpartition("@")
    if not at or where != realm:
        raise Wrong(f"{principal!r} is not of {realm}")
    first = name.split("/")[0]
    if not first or "@" in name or "\\" in name:
        raise Wrong(f"{principal!r} has no short name")
    return said_name(first)
