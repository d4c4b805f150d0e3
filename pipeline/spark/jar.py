"""Where causeway-guard.jar is: all Java of Causeway, built from `guard/` by Maven.

It has the guard of the clusters' Spark, the input format for Hudi tables, the tasks that copy
files, and the metastore of the embedded stack. A wheel contains it; in a checkout `make guard`
builds it. Spark 4 has a jar of its own, causeway-guard-spark4.jar: the installed pyspark decides
which one is used here.
"""

from importlib.metadata import version
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from pipeline.errors import JarMissing

SPARK_MAJOR = int(version("pyspark").split(".")[0])
_FOLDER, NAME = (
    ("target/spark4", "causeway-guard-spark4.jar")
    if SPARK_MAJOR >= 4
    else ("target", "causeway-guard.jar")
)
_INSTALLED = Path(__file__).with_name(NAME)
_BUILT = Path(__file__).parents[2] / "guard" / _FOLDER / NAME
# One class of each package: the jar of an older checkout lacks some.
CLASSES = frozenset(
    {
        "causeway/guard/files/StorageAgent.class",
        "causeway/hudi/HudiParquetInputFormat.class",
        "causeway/copy/FileCopyTask.class",
        "causeway/stack/LocalMetastore.class",
    }
)


def guard_jar_or_none() -> Path | None:
    """The path of the jar for this pyspark; None where it was not built."""
    try:
        return guard_jar()
    except JarMissing:
        return None


def guard_jar() -> Path:
    """The path of the jar for this pyspark. Raises JarMissing, also for one of an older version."""
    jar = next((path for path in (_INSTALLED, _BUILT) if path.exists()), None)
    if jar is None:
        raise JarMissing(f"there is no {_BUILT}.")
    try:
        with ZipFile(jar) as archive:
            missing = CLASSES - set(archive.namelist())
    except BadZipFile as error:
        raise JarMissing(f"{jar}: {error}.") from error
    if missing:
        raise JarMissing(f"{jar} is of an older version: it has no {min(missing)}.")
    return jar
