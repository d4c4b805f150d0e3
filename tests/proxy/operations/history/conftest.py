"""The databases that the history's tests run on."""

from tests.database.history.databases import url

__all__ = ["url"]
