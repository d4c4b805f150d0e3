"""Comparison of user names in access rules.

A name in a rule that takes a right away is compared loosely, because a directory may take `Ann` and
`ann` for one user. A name in a rule that gives a right is compared exactly.
"""

import unicodedata
from functools import lru_cache

_DOTLESS_I = "\u0131"


def short(name: str) -> str:
    """The part of the name before its first `/` or `@`; the whole name if that part is empty."""
    ends = [at for at in (name.find("/"), name.find("@")) if at > 0]
    return name[: min(ends)] if ends else name


def exact(name: str) -> str:
    """The name in Unicode's form NFKC, in which log-ins compare names."""
    return unicodedata.normalize("NFKC", name)


@lru_cache(100_000)
def loose(name: str) -> str:
    """A key that is equal for names that differ only in domain, case, accents, white space, or
    compatible forms of letters. Two users may have the same key."""
    folded = short(unicodedata.normalize("NFKC", name)).casefold().replace(_DOTLESS_I, "i")
    letters = unicodedata.normalize("NFKD", folded)
    kept = "".join(each for each in letters if unicodedata.category(each)[0] not in "MCZ")
    return unicodedata.normalize("NFKC", kept).casefold() or name
