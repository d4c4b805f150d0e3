"""Paths of files below a table's folder.

Hadoop writes `file:/w/t` for `file:///w/t`. A table may have both spellings of one folder.
"""

from pipeline.errors import FilesNotEnough


def below(path: object, folder: str) -> str:
    """The path relative to the folder. Raises FilesNotEnough for one that is elsewhere."""
    inside = _inside(str(path), folder)
    if inside is None:
        raise FilesNotEnough(f"names a file outside of its folder: {path}")
    return inside


def is_below(path: object, folder: str) -> bool:
    return _inside(str(path), folder) is not None


def moved(path: object, source: str, target: str) -> str:
    """A path below `source` as that below `target`. Raises FilesNotEnough."""
    return f"{target}/{below(path, source)}"


def spellings(folder: str) -> tuple[str, ...]:
    """The possible spellings of a folder."""
    plain = _plain(folder)
    scheme, colon, rest = plain.partition(":/")
    return (plain,) if not colon or rest.startswith("/") else (plain, f"{scheme}:///{rest}")


def _inside(path: str, folder: str) -> str | None:
    path, before = _plain(path), f"{_plain(folder)}/"
    inside = path.removeprefix(before)
    return None if inside == path or ".." in inside.split("/") else inside


def _plain(path: str) -> str:
    scheme, colon, rest = path.partition(":///")
    return f"{scheme}:/{rest}" if colon else path
