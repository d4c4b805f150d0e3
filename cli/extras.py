"""The packages that `pip install causeway` leaves out, and the extras that install them."""

from collections.abc import Mapping

EXTRAS: Mapping[str, str] = {
    "pyspark": "spark",
    "py4j": "spark",
    "pyhive": "spark",
    "TCLIService": "spark",
    "fastavro": "hudi",
    "hudi": "hudi",
    "pyarrow": "hudi",
    "alembic": "history",
    "sqlalchemy": "history",
}
"""Maps a top-level package to the extra that installs it."""


def extra_of(error: ModuleNotFoundError) -> str | None:
    """The extra that installs the missing module; None if no extra does."""
    return EXTRAS.get((error.name or "").partition(".")[0])
