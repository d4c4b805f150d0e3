"""The settings with which Spark answers SHOW and DESCRIBE as `descriptions` does."""

import re
from collections.abc import Mapping

from proxy.catalog.metadata import lists_as_usual

_IMPLEMENTATION = "spark.sql.catalogimplementation"
_EXTENSIONS, _GUARD = "spark.sql.extensions", "causeway.guard."
# Settings of Spark SQL that do not change the answers to SHOW and DESCRIBE. Any other may.
_HARMLESS = re.compile(
    r"spark\.sql\.(?:"
    r"(?:adaptive|cbo|codegen|execution|files|inmemorycolumnarstorage|join|optimizer|orc|parquet"
    r"|shuffle|statistics|streaming|thriftserver|ui|legacy\.(?:avro|parquet))\..*"
    r"|ansi\.(?:doublequotedidentifiers|enabled)|artifact\..*|autobroadcastjointhreshold"
    r"|binaryoutputstyle|broadcasttimeout"
    r"|catalogimplementation|cartesianproductexec\..*|crossjoin\.enabled"
    r"|datetime\.java8api\.enabled|extensions|filesourcetablerelationcachesize"
    r"|hive\.(?:convert.*|filesourcepartitionfilecachesize|managefilesourcepartitions"
    r"|metastore\.(?:barrierprefixes|sharedprefixes)|metastorepartitionpruning.*"
    r"|thriftserver\..*|verifypartitionpath|version)"
    r"|legacy\.timeparserpolicy|limit\..*|repl\..*|session\.timezone"
    r"|sources\.(?:bucketing\..*|parallelpartitiondiscovery\..*|partitionoverwritemode)"
    r"|storeassignmentpolicy|warehouse\.dir|windowexec\..*)"
)
# Other settings than Spark SQL's, if they may hide something.
_HIDING = re.compile(r"redaction|filter")


def shows_as_usual(settings: Mapping[str, str]) -> bool:
    """Whether Spark answers as by default with these settings. Their names are in lower case."""
    extensions = settings.get(_EXTENSIONS, _GUARD).split(",")
    return (
        settings.get(_IMPLEMENTATION) == "hive"
        and lists_as_usual(settings)
        and all(each.strip().startswith(_GUARD) for each in extensions)
        and all(_is_harmless(key) for key in settings)
    )


def _is_harmless(key: str) -> bool:
    if key.startswith("spark.sql."):
        return _HARMLESS.fullmatch(key) is not None
    return _HIDING.search(key) is None
