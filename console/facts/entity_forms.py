"""Forms for clusters, feeds and processes: their fields, the document that they make, and the
problems of a document. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape

from pipeline.falcon.documents import document, tree
from pipeline.falcon.entities.identity import Kind
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import BadDocument, DocumentProblem
from pipeline.falcon.rules import entity_rules
from pipeline.falcon.warnings import warnings_of

Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FormField:
    """An input of a form. With `choices` it is a list. `help` is shown beside it."""

    name: str
    title: str
    default: str = ""
    choices: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The problems of a document, and warnings for its author, by line."""

    problems: tuple[DocumentProblem, ...]
    warnings: tuple[DocumentProblem, ...] = ()


Groups = tuple[tuple[str, tuple[FormField, ...]], ...]
_PERIOD = "a number of minutes, hours, days or months, such as hours(1)"
_TIME = "UTC, such as 2026-01-01T00:00Z"
_RETRIES = ("", "exp-backoff", "periodic", "final")
_VALIDITY = (
    FormField("start", "From", help=_TIME),
    FormField("end", "Until", help=_TIME),
)

FORMS: Mapping[Kind, Groups] = {
    Kind.CLUSTER: (
        (
            "Cluster",
            (
                FormField("name", "Name", "east", help="as in hive.cluster.properties"),
                FormField("colo", "Place", "east", help="where it stands, for people"),
                FormField("description", "Description"),
            ),
        ),
        (
            "Interfaces",
            (
                FormField("registry", "Metastore", "thrift://localhost:9083"),
                FormField("write", "File system", "hdfs://localhost:8020"),
                FormField("execute", "Thrift Server", "localhost:10000", help="host:port"),
            ),
        ),
        (
            "Folders",
            (
                FormField(
                    "staging", "Staging", "/causeway/staging", help="for what is not complete"
                ),
                FormField("working", "Working", "/causeway/working"),
            ),
        ),
    ),
    Kind.FEED: (
        (
            "Feed",
            (
                FormField("name", "Name", "orders"),
                FormField("frequency", "Every", "hours(1)", help=_PERIOD),
                FormField("zone", "Time zone", "UTC"),
                FormField("description", "Description"),
            ),
        ),
        (
            "Data",
            (
                FormField("table", "Table", "sales.orders", help="database.table"),
                FormField(
                    "partition",
                    "Partition",
                    "ds=${YEAR}-${MONTH}-${DAY};hour=${HOUR}",
                    help="the partition of an instance, made of its date; * if the table has none:"
                    " leave Kept empty then",
                ),
            ),
        ),
        (
            "Where and when",
            (
                FormField("source", "Written in", help="the cluster that has the primary"),
                FormField("target", "Copied to", help="a cluster, or none"),
                FormField("delay", "Copied after", help=f"how long to wait: {_PERIOD}"),
                *_VALIDITY,
            ),
        ),
        (
            "Kept and agreed",
            (
                FormField("retention", "Kept", "months(36)", help=_PERIOD),
                FormField("target_retention", "Copy kept", "months(36)", help=_PERIOD),
                FormField("low", "Warn after", help=f"of its time: {_PERIOD}"),
                FormField("high", "Late after", help=f"an agreement is missed then: {_PERIOD}"),
                FormField("late", "May change for", help=f"after its time: {_PERIOD}"),
                FormField("owner", "Owner", "", help="the user who may change it"),
            ),
        ),
    ),
    Kind.PROCESS: (
        (
            "Process",
            (
                FormField("name", "Name", "daily-orders"),
                FormField("cluster", "Runs in", help="a cluster"),
                *_VALIDITY,
                FormField("frequency", "Every", "days(1)", help=_PERIOD),
                FormField("zone", "Time zone", "UTC"),
            ),
        ),
        (
            "Work",
            (
                FormField("engine", "Engine", "hive", choices=("hive", "spark", "pig", "oozie")),
                FormField("path", "Program", "/apps/orders.hql"),
                FormField("parallel", "At a time", "1", help="from 1 to 12 instances"),
                FormField("order", "Order", "FIFO", choices=("FIFO", "LIFO", "LAST_ONLY")),
                FormField("timeout", "Waits for", "hours(6)", help=f"its inputs: {_PERIOD}"),
            ),
        ),
        (
            "Reads and writes",
            (
                FormField("input", "Reads feed"),
                FormField("input_start", "from", "today(0,0)", help="an expression of its time"),
                FormField("input_end", "to", "today(23,0)"),
                FormField("output", "Writes feed"),
                FormField("output_instance", "of", "today(0,0)"),
            ),
        ),
        (
            "Failures and agreements",
            (
                FormField("retry", "Retries", "exp-backoff", _RETRIES),
                FormField("retry_delay", "after", "minutes(10)", help=_PERIOD),
                FormField("attempts", "at most", "3"),
                FormField("start_in", "Warn after", help=f"if it has not begun: {_PERIOD}"),
                FormField("end_in", "Late after", help=f"if it has not ended: {_PERIOD}"),
            ),
        ),
    ),
}


def defaults(kind: Kind, now: datetime) -> dict[str, str]:
    """The values of a new form. It starts today: earlier instances would be due at once."""
    known = {field.name: field.default for _, fields in FORMS[kind] for field in fields}
    if "start" in known:
        known |= {"start": f"{now:%Y-%m-%dT00:00Z}", "end": f"{now.year + 10}-{now:%m}-01T00:00Z"}
    return known


def document_of(kind: Kind, values: Values) -> str:
    """The document for the values, which may be invalid (see `judge`)."""
    names = (field.name for _, fields in FORMS[kind] for field in fields)
    known = {name: values.get(name, "").strip() for name in names}
    lines = {Kind.CLUSTER: _cluster, Kind.FEED: _feed, Kind.PROCESS: _process}[kind](known)
    return "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', *lines, ""))


def judge(text: str, others: EntitySet, now: datetime) -> Judgement:
    """The problems of a document, also with its references to submitted entities."""
    data = text.encode()
    if len(data) > tree.MAX_BYTES:
        reason = f"is longer than {tree.MAX_BYTES} bytes"
        return Judgement((DocumentProblem(1, "document", reason),))
    try:
        entity = document.read(data)
    except BadDocument as error:
        return Judgement(error.problems)
    problems = entity_rules.problems(entity, others)
    return Judgement(problems, () if problems else warnings_of(entity, now))


def _cluster(v: Values) -> Iterable[str]:
    yield _open("cluster", name=v["name"], description=v["description"] or None, colo=v["colo"],
                xmlns="uri:falcon:cluster:0.1")  # fmt: skip
    yield "  <interfaces>"
    for kind, endpoint in (
        ("readonly", v["write"]),
        ("write", v["write"]),
        ("execute", v["execute"]),
        ("registry", v["registry"]),
    ):
        if endpoint:
            yield "    " + _empty("interface", type=kind, endpoint=endpoint, version="3.0")
    yield from ("  </interfaces>", "  <locations>")
    yield from (
        "    " + _empty("location", name=name, path=v[name])
        for name in ("staging", "working")
        if v[name]
    )
    yield from ("  </locations>", "</cluster>")


def _feed(v: Values) -> Iterable[str]:
    yield _open("feed", name=v["name"], description=v["description"] or None,
                xmlns="uri:falcon:feed:0.1")  # fmt: skip
    yield f"  {_text('frequency', v['frequency'])}"
    if v["low"] or v["high"]:
        low, high = v["low"] or v["high"], v["high"] or v["low"]
        yield "  " + _empty("sla", slaLow=low, slaHigh=high)
    if v["zone"]:
        yield f"  {_text('timezone', v['zone'])}"
    if v["late"]:
        yield "  " + _empty("late-arrival", **{"cut-off": v["late"]})
    yield "  <clusters>"
    yield from _feed_cluster(v["source"], "source", v, v["retention"], None)
    if v["target"]:
        yield from _feed_cluster(v["target"], "target", v, v["target_retention"], v["delay"])
    yield "  </clusters>"
    database, _, table = v["table"].rpartition(".")
    uri = f"catalog:{database or 'default'}:{table}#{v['partition']}"
    yield "  " + _empty("table", uri=uri)
    yield "  " + _empty("ACL", owner=v["owner"] or None)
    yield "  " + _empty("schema", location="", provider="hcatalog")
    yield "</feed>"


def _feed_cluster(
    name: str, role: str, v: Values, retention: str, delay: str | None
) -> Iterable[str]:
    yield "    " + _open("cluster", name=name, type=role, delay=delay or None)
    yield "      " + _empty("validity", start=v["start"], end=v["end"])
    if retention:
        yield "      " + _empty("retention", limit=retention, action="delete")
    yield "    </cluster>"


def _process(v: Values) -> Iterable[str]:
    yield _open("process", name=v["name"], xmlns="uri:falcon:process:0.1")
    yield "  <clusters>"
    yield "    " + _open("cluster", name=v["cluster"])
    yield "      " + _empty("validity", start=v["start"], end=v["end"])
    yield from ("    </cluster>", "  </clusters>")
    yield f"  {_text('parallel', v['parallel'])}"
    yield f"  {_text('order', v['order'])}"
    if v["timeout"]:
        yield f"  {_text('timeout', v['timeout'])}"
    yield f"  {_text('frequency', v['frequency'])}"
    if v["start_in"] or v["end_in"]:
        limits = {"shouldStartIn": v["start_in"] or None, "shouldEndIn": v["end_in"] or None}
        yield "  " + _empty("sla", **limits)
    if v["zone"]:
        yield f"  {_text('timezone', v['zone'])}"
    if v["input"]:
        span = {"start": v["input_start"], "end": v["input_end"]}
        yield f"  <inputs>{_empty('input', name='input', feed=v['input'], **span)}</inputs>"
    if v["output"]:
        one = _empty("output", name="output", feed=v["output"], instance=v["output_instance"])
        yield f"  <outputs>{one}</outputs>"
    yield "  " + _empty("workflow", engine=v["engine"], path=v["path"])
    if v["engine"] == "spark":
        yield "  <spark-attributes>"
        yield f"    {_text('name', v['name'])}"
        yield f"    {_text('jar', v['path'])}"
        yield "  </spark-attributes>"
    if v["retry"]:
        yield "  " + _empty(
            "retry", policy=v["retry"], delay=v["retry_delay"], attempts=v["attempts"]
        )
    yield "</process>"


def _open(element: str, **attributes: str | None) -> str:
    return f"<{element}{_attributes(attributes)}>"


def _empty(element: str, **attributes: str | None) -> str:
    return f"<{element}{_attributes(attributes)}/>"


def _text(element: str, text: str) -> str:
    return f"<{element}>{escape(text, quote=False)}</{element}>"


def _attributes(values: Mapping[str, str | None]) -> str:
    return "".join(
        f' {name}="{escape(value)}"' for name, value in values.items() if value is not None
    )
