"""Hadoop settings of each endpoint: `AUTHORITY=CONF_DIR,...,*=CONF_DIR` (FA-R10)."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.errors import BadEndpoints

ANY = "*"
_S3A, _S3_SCHEMES = "fs.s3a.", ("s3", "s3a", "s3n")
_BUCKET = f"{_S3A}bucket."
_IMPLEMENTATION = f"{_S3A}impl"  # S3A ignores it among the settings of a bucket
_DEFAULT = "fs.defaultFS"


def read_endpoints(text: str, base: Path = Path()) -> Mapping[str, Mapping[str, str]]:
    """Settings by authority (`host:port`); `*` is for every other authority.

    The *-site.xml files of each directory are read in the order of their names. A relative
    directory is below `base`. Raises BadEndpoints.
    """
    endpoints: dict[str, Mapping[str, str]] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        authority, equals, folder = part.partition("=")
        if not equals or not authority.strip() or not folder.strip():
            raise BadEndpoints(f"{part!r} is not AUTHORITY=CONF_DIR.")
        if authority.strip() in endpoints:
            raise BadEndpoints(f"{authority.strip()} is named twice.")
        endpoints[authority.strip()] = _read_folder(base / folder.strip())
    return endpoints


def session_settings(
    endpoints: Mapping[str, Mapping[str, str]], locations: Iterable[str]
) -> dict[str, str]:
    """Spark settings (`spark.hadoop.KEY`) with which a whole session can access these URIs, for
    Hudi's writer, which takes no settings of its own for each endpoint.

    Settings of S3A are set for the bucket alone. The session keeps its default file system. Raises
    BadEndpoints if two locations need different values of one setting.
    """
    session: dict[str, str] = {}
    for location in locations:
        uri = urlsplit(location)
        settings = endpoints.get(uri.netloc, endpoints.get(ANY, {})) if uri.netloc else {}
        if uri.scheme in _S3_SCHEMES:
            settings = _of_bucket(uri.netloc, settings)
        for key, value in settings.items():
            if key != _DEFAULT and session.setdefault(f"spark.hadoop.{key}", value) != value:
                raise BadEndpoints(
                    f"{key} differs between the settings of {location} and of the other table, and"
                    " one Spark session writes to one and reads the other."
                )
    return session


def _of_bucket(bucket: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of S3A as settings of one bucket. The bucket's own ones take precedence."""

    def is_general(key: str) -> bool:
        return key.startswith(_S3A) and not key.startswith((_BUCKET, _IMPLEMENTATION))

    named = {f"{_BUCKET}{bucket}.{k[len(_S3A) :]}": v for k, v in settings.items() if is_general(k)}
    return named | {key: value for key, value in settings.items() if not is_general(key)}


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
