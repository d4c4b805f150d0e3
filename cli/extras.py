"""What `pip install causeway` leaves out, and how an operator gets it."""

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
"""The extra that has the module, by the name of its outermost package."""


def extra_of(error: ModuleNotFoundError) -> str | None:
    """The extra that has the missing module; None if no extra has it."""
    return EXTRAS.get((error.name or "").partition(".")[0])
