"""The names of users, as HiveServer2 makes them of what was proved."""

from proxy.identity.errors import Wrong

_LONGEST = 256


def short_name(proved: str) -> str:
    """HiveServer2's session user: what is before the first `/` or `@`, where that is something."""
    ends = [at for at in (proved.find("/"), proved.find("@")) if at > 0]
    return proved[: min(ends)] if ends else proved


def said_name(user: str) -> str:
    """A name as a client typed it, fit to be looked up. Raises Wrong.

    White space at the ends and control characters are refused: a directory takes `ann ` for
    `ann`, and the clusters would know them as two.
    """
    if not user or len(user) > _LONGEST or user != user.strip() or not user.isprintable():
        raise Wrong("not a name that anybody has")
    return user


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
