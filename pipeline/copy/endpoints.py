"""Hadoop settings of each endpoint: `AUTHORITY=CONF_DIR,...,*=CONF_DIR` (FA-R10)."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import BadEndpoints

ANY = "*"


def read_endpoints(text: str, base: Path = Path()) -> Mapping[str, Mapping[str, str]]:
    """Settings by authority (`host:port`); `*` is for every other authority.

    The *-site.xml files of each directory are read in the order of their names. A relative
    directory is below `base`. Raises BadEndpoints.
    """
    found: dict[str, Mapping[str, str]] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        authority, equals, folder = part.partition("=")
        if not equals or not authority.strip() or not folder.strip():
            raise BadEndpoints(f"{part!r} is not AUTHORITY=CONF_DIR.")
        if authority.strip() in found:
            raise BadEndpoints(f"{authority.strip()} is named twice.")
        found[authority.strip()] = _read_folder(base / folder.strip())
    return found


def _read_folder(folder: Path) -> Mapping[str, str]:
    if not folder.is_dir():
        raise BadEndpoints(f"{folder} is not a directory.")
    files = sorted(folder.glob("*-site.xml"))
    if not files:
        raise BadEndpoints(f"{folder} has no *-site.xml.")
    settings: dict[str, str] = {}
    for file in files:
        try:
            root = ElementTree.parse(file).getroot()
        except (ElementTree.ParseError, OSError) as error:
            raise BadEndpoints(f"{file}: {error}.") from error
        for entry in root.iter("property"):
            name = (entry.findtext("name") or "").strip()
            if name:
                settings[name] = (entry.findtext("value") or "").strip()
    return settings
