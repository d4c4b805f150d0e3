"""Reads an entity from a document's bytes, or reports every problem."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from typing import TypeVar

from conf.names import ClusterName
from pipeline.falcon import catalog_uri, expression
from pipeline.falcon.calendar import Frequency, parse_time, parse_zone
from pipeline.falcon.documents import datasources, grammar, tree
from pipeline.falcon.documents.tree import Element
from pipeline.falcon.entities.agreements import Notification, Sla, Validity
from pipeline.falcon.entities.cluster import Cluster, Interface
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed, FeedCluster, Paths, Role, Storage, Table
from pipeline.falcon.entities.identity import Acl
from pipeline.falcon.entities.process import (
    Engine,
    Input,
    LateProcess,
    Order,
    Output,
    PolicyType,
    Process,
    ProcessCluster,
    Retry,
    SparkAttributes,
    Workflow,
)
from pipeline.falcon.errors import BadDocument, DocumentProblem

T = TypeVar("T")


def read_tree(data: bytes) -> Element:
    """A tree that the grammar accepts. Raises BadDocument with every problem."""
    root = tree.parse(data)
    if problems := grammar.check(root):
        raise BadDocument(problems)
    return root


def read(data: bytes) -> Entity:
    """The entity that a document describes. Raises BadDocument with every problem."""
    root = read_tree(data)
    readers: Mapping[str, Callable[[_Reader, Element], Entity]] = {
        "cluster": _read_cluster,
        "feed": _read_feed,
        "process": _read_process,
        "datasource": lambda _, root: datasources.read(root, _read_acl(root)),
    }
    reader = _Reader()
    entity = readers[root.name](reader, root)
    if reader.problems:
        raise BadDocument(tuple(sorted(reader.problems)))
    return entity


def substitute(data: bytes, values: Mapping[str, str]) -> bytes:
    """Replaces the placeholders `##name##` of a document (FA-E5)."""
    for name, value in values.items():
        data = data.replace(f"##{name}##".encode(), value.encode())
    return data


class _Reader:
    """Parses the texts of a document and collects the problems."""

    def __init__(self) -> None:
        self.problems: list[DocumentProblem] = []

    def value(self, element: Element, text: str, parse: Callable[[str], T], instead: T) -> T:
        """The parsed text. If `parse` raises ValueError, a problem is added, and `instead` is
        returned.
        """
        try:
            return parse(text)
        except ValueError as error:
            reason = str(error.args[0] if error.args else error)
            self.problems.append(DocumentProblem(element.line, element.name, reason))
            return instead

    def time(self, element: Element, name: str) -> datetime:
        return self.value(element, element.attributes[name], parse_time, _NO_TIME)

    def frequency(self, element: Element, text: str) -> Frequency:
        return self.value(element, text, Frequency.parse, _NO_FREQUENCY)

    def maybe_frequency(self, element: Element, name: str) -> Frequency | None:
        text = element.attributes.get(name)
        return None if text is None else self.frequency(element, text)

    def expression(self, element: Element, name: str) -> expression.Expression:
        return self.value(element, element.attributes[name], expression.parse, _NO_EXPRESSION)


_NO_TIME = parse_time("1970-01-01T00:00Z")
_NO_FREQUENCY = Frequency.parse("days(1)")
_NO_EXPRESSION = expression.parse("now(0,0)")


def _text(parent: Element, name: str) -> str:
    found = parent.child(name)
    return found.text if found else ""


def _read_acl(root: Element) -> Acl:
    found = root.child("ACL")
    if found is None:
        return Acl()
    get = found.attributes.get
    return Acl(get("owner"), get("group"), get("permission", "*"))


def _read_properties(root: Element) -> tuple[tuple[str, str], ...]:
    found = root.child("properties")
    if found is None:
        return ()
    return tuple((p.attributes["name"], p.attributes["value"]) for p in found.children)


def _read_cluster(reader: _Reader, root: Element) -> Cluster:
    interfaces: dict[str, Interface] = {}
    for each in _children(root, "interfaces"):
        kind = each.attributes["type"]
        if kind in interfaces:
            reader.problems.append(
                DocumentProblem(each.line, "interface", f"type {kind} is there twice")
            )
        interfaces[kind] = Interface(
            each.attributes["endpoint"], each.attributes["version"], each.line
        )
    locations: dict[str, str] = {}
    for each in _children(root, "locations"):
        name = each.attributes["name"]
        if name in locations:
            reader.problems.append(DocumentProblem(each.line, "location", f"{name} is there twice"))
        locations[name] = each.attributes["path"]
    return Cluster(
        name=ClusterName(root.attributes["name"]),
        colo=root.attributes["colo"],
        interfaces=interfaces,
        locations=locations,
        acl=_read_acl(root),
        properties=_read_properties(root),
        tags=_text(root, "tags"),
        description=root.attributes.get("description", ""),
        line=root.line,
    )


def _children(root: Element, name: str) -> list[Element]:
    found = root.child(name)
    return found.children if found else []


def _read_validity(reader: _Reader, parent: Element) -> Validity:
    element = parent.child("validity")
    assert element is not None
    return Validity(reader.time(element, "start"), reader.time(element, "end"), element.line)


def _read_sla(reader: _Reader, parent: Element, low: str, high: str) -> Sla | None:
    element = parent.child("sla")
    if element is None:
        return None
    return Sla(
        reader.maybe_frequency(element, low), reader.maybe_frequency(element, high), element.line
    )


def _read_storage(reader: _Reader, parent: Element) -> Storage | None:
    table = parent.child("table")
    if table is not None:
        uri = reader.value(table, table.attributes["uri"], catalog_uri.parse, _NO_URI)
        return Table(uri, table.line)
    paths = parent.child("locations")
    if paths is None:
        return None
    return Paths({p.attributes["type"]: p.attributes["path"] for p in paths.children}, paths.line)


_NO_URI = catalog_uri.parse("catalog:none:none#none=none")


def _read_feed(reader: _Reader, root: Element) -> Feed:
    storage = _read_storage(reader, root)
    frequency = root.child("frequency")
    late = root.child("late-arrival")
    partitions = root.child("partitions")
    assert storage is not None
    assert frequency is not None
    groups = _text(root, "groups")
    return Feed(
        name=root.attributes["name"],
        frequency=reader.frequency(frequency, frequency.text),
        clusters=tuple(
            _read_feed_cluster(reader, each, root.child("lifecycle"))
            for each in _children(root, "clusters")
        ),
        storage=storage,
        zone=_read_zone(reader, root),
        late_cutoff=reader.maybe_frequency(late, "cut-off") if late else None,
        sla=_read_sla(reader, root, "slaLow", "slaHigh"),
        groups=tuple(groups.split(",")) if groups else (),
        availability_flag=_text(root, "availabilityFlag") or None,
        partitions=(
            tuple(p.attributes["name"] for p in partitions.children) if partitions else None
        ),
        acl=_read_acl(root),
        properties=_read_properties(root),
        notification=_read_notification(root),
        tags=_text(root, "tags"),
        description=root.attributes.get("description", ""),
        line=root.line,
    )


def _read_notification(root: Element) -> Notification | None:
    found = root.child("notification")
    if found is None:
        return None
    addresses = tuple(filter(None, map(str.strip, found.attributes["to"].split(","))))
    return Notification(addresses, found.attributes.get("level", "instance"))


def _read_zone(reader: _Reader, root: Element) -> tzinfo:
    element = root.child("timezone")
    utc = parse_zone("UTC")
    if element is None or not element.text:
        return utc
    return reader.value(element, element.text, parse_zone, utc)


def _read_feed_cluster(reader: _Reader, element: Element, lifecycle: Element | None) -> FeedCluster:
    """`lifecycle` is the feed's own, for clusters that have none."""
    limit, eviction = _read_retention(reader, element, (element.child("lifecycle"), lifecycle))
    return FeedCluster(
        name=ClusterName(element.attributes["name"]),
        role=Role(element.attributes.get("type", "source")),
        validity=_read_validity(reader, element),
        retention=limit,
        eviction=eviction,
        storage=_read_storage(reader, element),
        partition=element.attributes.get("partition"),
        delay=reader.maybe_frequency(element, "delay"),
        sla=_read_sla(reader, element, "slaLow", "slaHigh"),
        exchanges=datasources.exchanges(element),
        line=element.line,
    )


_STAGE_POLICY = "AgeBasedDelete"
_STAGE_LIMIT = "retention.policy.agebaseddelete.limit"


def _read_retention(
    reader: _Reader, cluster: Element, lifecycles: Iterable[Element | None]
) -> tuple[Frequency | None, Frequency | None]:
    """The limit, and how often it is applied. The first retention stage has precedence over the
    element `retention` [F].
    """
    plain = cluster.child("retention")
    limit = None if plain is None else reader.frequency(plain, plain.attributes["limit"])
    stages = (each.child("retention-stage") for each in lifecycles if each)
    stage = next((each for each in stages if each), None)
    if stage is None:
        return limit, None
    policy = _text(stage, "policy") or _STAGE_POLICY
    given = dict(_read_properties(stage)).get(_STAGE_LIMIT)
    if policy != _STAGE_POLICY:
        reason = f"policy {policy} is not known, only {_STAGE_POLICY}"
        reader.problems.append(DocumentProblem(stage.line, "retention-stage", reason))
    elif given is None:
        reason = f"property {_STAGE_LIMIT} is missing"
        reader.problems.append(DocumentProblem(stage.line, "retention-stage", reason))
    else:
        limit = reader.frequency(stage, given)
    every = stage.child("frequency")
    return limit, reader.frequency(every, every.text) if every else None


def _read_process(reader: _Reader, root: Element) -> Process:
    frequency = root.child("frequency")
    timeout = root.child("timeout")
    assert frequency is not None
    return Process(
        name=root.attributes["name"],
        clusters=tuple(
            ProcessCluster(
                ClusterName(each.attributes["name"]),
                _read_validity(reader, each),
                _read_sla(reader, each, "shouldStartIn", "shouldEndIn"),
                each.line,
            )
            for each in _children(root, "clusters")
        ),
        parallel=int(_text(root, "parallel")),
        order=Order(_text(root, "order")),
        frequency=reader.frequency(frequency, frequency.text),
        workflow=_read_workflow(root),
        zone=_read_zone(reader, root),
        timeout=reader.frequency(timeout, timeout.text) if timeout else None,
        inputs=tuple(_read_input(reader, each) for each in _children(root, "inputs")),
        outputs=tuple(_read_output(reader, each) for each in _children(root, "outputs")),
        properties=_read_properties(root),
        spark=_read_spark(root),
        retry=_read_retry(reader, root),
        late=_read_late(reader, root),
        sla=_read_sla(reader, root, "shouldStartIn", "shouldEndIn"),
        acl=_read_acl(root),
        notification=_read_notification(root),
        tags=_text(root, "tags"),
        pipelines=_text(root, "pipelines"),
        line=root.line,
    )


def _boolean(text: str) -> bool:
    return text.strip() in ("true", "1")


def _read_input(reader: _Reader, element: Element) -> Input:
    return Input(
        name=element.attributes["name"],
        feed=element.attributes["feed"],
        start=reader.expression(element, "start"),
        end=reader.expression(element, "end"),
        partition=element.attributes.get("partition"),
        optional=_boolean(element.attributes.get("optional", "false")),
        line=element.line,
    )


def _read_output(reader: _Reader, element: Element) -> Output:
    return Output(
        name=element.attributes["name"],
        feed=element.attributes["feed"],
        instance=reader.expression(element, "instance"),
        line=element.line,
    )


def _read_workflow(root: Element) -> Workflow:
    element = root.child("workflow")
    assert element is not None
    get = element.attributes.get
    return Workflow(
        engine=Engine(get("engine", "oozie")),
        path=element.attributes["path"],
        lib=get("lib"),
        name=get("name"),
        version=get("version", "1.0"),
        line=element.line,
    )


def _read_spark(root: Element) -> SparkAttributes | None:
    element = root.child("spark-attributes")
    if element is None:
        return None
    return SparkAttributes(
        name=_text(element, "name"),
        jar=_text(element, "jar"),
        master=_text(element, "master") or None,
        mode=_text(element, "mode") or None,
        main_class=_text(element, "class") or None,
        options=_text(element, "spark-opts"),
        arguments=tuple(each.text for each in element.all("arg")),
    )


def _read_retry(reader: _Reader, root: Element) -> Retry | None:
    element = root.child("retry")
    if element is None:
        return None
    return Retry(
        PolicyType(element.attributes["policy"]),
        reader.frequency(element, element.attributes["delay"]),
        int(element.attributes["attempts"]),
        _boolean(element.attributes.get("onTimeout", "false")),
    )


def _read_late(reader: _Reader, root: Element) -> LateProcess | None:
    element = root.child("late-process")
    if element is None:
        return None
    return LateProcess(
        PolicyType(element.attributes["policy"]),
        reader.frequency(element, element.attributes["delay"]),
        {each.attributes["input"]: each.attributes["workflow-path"] for each in element.children},
        element.line,
    )
