"""Why a table of Iceberg cannot be copied."""


class NotCarried(Exception):
    """A copy of the table's files would be no copy of the table. The text ends a sentence about
    it.
    """
