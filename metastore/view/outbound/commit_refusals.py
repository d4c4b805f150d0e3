"""The words in which a client of Iceberg learns that its commit was refused.

Iceberg commits by `alter_table`, with the location of the new metadata among the parameters. After
most exceptions it reads the table again, and if its metadata is not there, it reports
CommitStateUnknownException: the writer can neither repeat the commit nor clean up. The metastore's
own words for a table that another commit has changed are a definite failure, CommitFailedException.
"""

from metastore.view.call import Call, Request, read_call
from metastore.view.errors import UnknownMethod
from metastore.view.methods import Act
from thriftcodec.reader import read_value
from thriftcodec.values import MAP

_LOCATION = "metadata_location"
_FAILED = (
    f"The table has been modified. The parameter value for key '{_LOCATION}' is that of the table"
    " before this commit, which was refused."
)


def refusal_message(request: Request, reason: str) -> str:
    """`reason`; for a commit of Iceberg with the words that make it a definite failure."""
    try:
        call = read_call(request)
    except UnknownMethod:
        return reason
    return f"{reason} {_FAILED}" if _commits(call) else reason


def _commits(call: Call) -> bool:
    """Whether the call puts new metadata in the place of a table's present one."""
    if call.spec.act is not Act.ALTER_TABLE:
        return False
    return any(
        found.parameters is not None
        and _LOCATION in read_value(call.data, found.parameters[0], MAP)[0]
        for place in call.spec.inbound
        for found in call.sent(place)
    )
