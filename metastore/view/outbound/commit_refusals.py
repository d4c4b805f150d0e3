"""The message with which a commit of Iceberg is refused.

Iceberg commits by `alter_table`, with the location of the new metadata among the parameters. After
most exceptions it reads the table again; if its metadata is not there, it raises
CommitStateUnknownException, after which a writer can neither repeat the commit nor clean up. For
one message of the metastore, that another commit has changed the table, it raises
CommitFailedException, which is definite. So a refusal contains that message.
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
    """`reason`, with the metastore's message added if the request is a commit of Iceberg."""
    try:
        call = read_call(request)
    except UnknownMethod:
        return reason
    return f"{reason} {_FAILED}" if _commits(call) else reason


def _commits(call: Call) -> bool:
    """Whether the call replaces the metadata of an Iceberg table."""
    if call.spec.act is not Act.ALTER_TABLE:
        return False
    return any(
        spans.parameters is not None
        and _LOCATION in read_value(call.data, spans.parameters[0], MAP)[0]
        for place in call.spec.inbound
        for spans in call.objects_at(place)
    )
