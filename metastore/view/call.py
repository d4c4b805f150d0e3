"""A client's request, and the call that it makes: its method, names and objects."""

from collections.abc import Iterator
from dataclasses import dataclass

from conf.names import TableRef
from metastore.client.object_spans import ObjectSpans, scan
from metastore.view.errors import UnknownMethod
from metastore.view.methods import CLUSTER_FIELD, ON_CLUSTER, MethodSpec, ObjectPath, spec_of
from thriftcodec.skip import (
    Path,
    find_values,
    read_message_header,
    skip_value,
    string_list,
    strings_at,
    text_at,
)
from thriftcodec.values import BOOL, CALL, LIST, STRING, STRUCT
from thriftcodec.writer import encode_head

_FIELD_HEADER = 3  # bytes: type and number


@dataclass(frozen=True, slots=True)
class Request:
    """One message of a client. `data` is the whole message, its arguments begin at `body`."""

    name: str
    sequence: int
    data: bytes
    body: int


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a method of the metastore's service, which has a row in the table of methods.

    A `<method>_on_cluster` (DC-U3) becomes a call of the method itself, with `cluster` as the
    client named it. In every other call `cluster` is None.
    """

    spec: MethodSpec
    sequence: int
    data: bytes
    body: int
    cluster: str | None = None

    @property
    def reply_name(self) -> str:
        """The method's name as the client called it, which the reply repeats."""
        return self.spec.name if self.cluster is None else self.spec.name + ON_CLUSTER

    @property
    def new_name(self) -> str:
        """The name to put into the metastore's reply; empty if the reply has it already."""
        return "" if self.cluster is None else self.reply_name

    def name_pairs(self) -> list[tuple[str, str]]:
        """The distinct pairs of database and table in the call, as the client wrote them."""
        pairs: list[tuple[str, str]] = []
        for database, table in zip(self.spec.databases, self.spec.tables, strict=True):
            pairs += zip(self.strings(database), self.strings(table), strict=False)
        return list(dict.fromkeys(pairs))

    def tables(self) -> tuple[TableRef, ...]:
        """The tables that the call names, in lower case."""
        return tuple(dict.fromkeys(ref_of(*names) for names in self.name_pairs()))

    def strings(self, path: Path) -> list[str]:
        return strings_at(self.data, self.body, path)

    def is_true(self, path: Path) -> bool:
        return any(
            self.data[at] for at, kind in find_values(self.data, self.body, path) if kind == BOOL
        )

    def objects_at(self, place: ObjectPath) -> Iterator[ObjectSpans]:
        """The objects at a path in the arguments."""
        for at, kind in find_values(self.data, self.body, place.path):
            if kind == STRUCT:
                yield scan(self.data, at, place.shape)

    def field_text(self, spans: ObjectSpans, number: int) -> str:
        """A string field of an object; empty if it is missing."""
        span = spans.fields.get(number)
        return text_at(self.data, span[0]) if span else ""

    def partition_values(self) -> list[list[str]]:
        """The values of the partitions that the call names by their values."""
        if self.spec.values is None:
            return []
        positions = find_values(self.data, self.body, self.spec.values)
        return [string_list(self.data, at) for at, kind in positions if kind == LIST]

    def partition_names(self) -> list[str]:
        """The names of the partitions that the call names by name."""
        if self.spec.partition_name is None:
            return []
        positions = find_values(self.data, self.body, self.spec.partition_name)
        return [text_at(self.data, at) for at, kind in positions if kind == STRING]


def read_request(data: bytes) -> Request:
    """Reads the header of a message. Raises MalformedMessage."""
    _, name, sequence, body = read_message_header(data)
    return Request(name, sequence, data, body)


def read_call(request: Request) -> Call:
    """The call that a request makes. Raises UnknownMethod for a method without a row."""
    spec = spec_of(request.name)
    if spec is None:
        raise UnknownMethod(f"{request.name} is not a call that this view knows.")
    if spec.name == request.name:
        return Call(spec, request.sequence, request.data, request.body)
    return _call_on_cluster(request, spec)


def _call_on_cluster(request: Request, spec: MethodSpec) -> Call:
    data, cluster, arguments = request.data, "", request.data[request.body :]
    for start, kind in find_values(data, request.body, (CLUSTER_FIELD,)):
        if kind == STRING:
            cluster, end = text_at(data, start), skip_value(data, start, STRING)
            arguments = data[request.body : start - _FIELD_HEADER] + data[end:]
    head = encode_head(spec.name, CALL, request.sequence)
    return Call(spec, request.sequence, head + arguments, len(head), cluster)


def ref_of(database: str, table: str) -> TableRef:
    """The table for names as a client writes them. Hive 3 writes `@catalog#` before a database."""
    if database.startswith("@"):
        database = database.partition("#")[2]
    return TableRef(database.strip().lower(), table.strip().lower())
