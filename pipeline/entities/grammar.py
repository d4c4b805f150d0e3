"""How the four documents are built, as data, and the check of a tree against it.

The rows say what the published schemas of Falcon 0.1 say: the order of elements, how many,
which attributes, which values. `check` reports every problem, not only the first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.entities import lexical as lex
from pipeline.entities.errors import Problem
from pipeline.entities.lexical import Check
from pipeline.entities.tree import Element

_SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance "
_HINTS = frozenset(
    {_SCHEMA_INSTANCE + "schemaLocation", _SCHEMA_INSTANCE + "noNamespaceSchemaLocation"}
)


@dataclass(frozen=True, slots=True)
class Group:
    """An element made of others. `unordered` children come in any order, each at most once."""

    content: tuple["Place", ...] = ()
    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    unordered: bool = False


Shape = Group | Check


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an element's content: any of `choices`, from `least` to `most` times."""

    choices: Mapping[str, Shape]
    least: int = 1
    most: int | None = 1

    def __str__(self) -> str:
        return " or ".join(self.choices)


def one(name: str, shape: Shape) -> Place:
    return Place({name: shape})


def maybe(name: str, shape: Shape) -> Place:
    return Place({name: shape}, least=0)


def many(name: str, shape: Shape, least: int = 0, most: int | None = None) -> Place:
    return Place({name: shape}, least, most)


_text = lex.anything
_version = {"version": lex.integer(-(2**31), 2**31 - 1)}
_pair = Group(required={"name": _text, "value": _text})
_properties = Group((many("property", _pair),))
_acl = Group(optional={"owner": _text, "group": _text, "permission": _text})
_notification = Group(
    required={"type": lex.one_of("email"), "to": _text},
    optional={"level": lex.one_of("attempt", "instance")},
)

_cluster = Group(
    (
        maybe("tags", lex.tags),
        one(
            "interfaces",
            Group(
                (
                    many(
                        "interface",
                        Group(
                            required={
                                "type": lex.one_of(
                                    "readonly",
                                    "write",
                                    "execute",
                                    "workflow",
                                    "messaging",
                                    "registry",
                                    "spark",
                                ),
                                "endpoint": _text,
                                "version": _text,
                            }
                        ),
                        least=3,
                    ),
                )
            ),
        ),
        one(
            "locations",
            Group(
                (
                    many(
                        "location",
                        Group(
                            required={
                                "name": lex.one_of("staging", "working", "temp"),
                                "path": _text,
                            }
                        ),
                        least=1,
                    ),
                )
            ),
        ),
        maybe("ACL", _acl),
        maybe("properties", _properties),
    ),
    required={"name": lex.name, "colo": _text},
    optional={"description": _text, **_version},
)

_feed_validity = Group(required={"start": lex.feed_time, "end": lex.feed_time})
_feed_sla = Group(required={"slaLow": lex.frequency, "slaHigh": lex.frequency})
_locations = Group(
    (
        many(
            "location",
            Group(
                required={
                    "type": lex.one_of("data", "stats", "meta", "tmp"),
                    "path": lex.not_empty,
                }
            ),
        ),
    )
)
_table = Group(required={"uri": _text})
_retention_stage = Group(
    (
        maybe("policy", lex.not_empty),
        maybe("frequency", lex.frequency),
        maybe("queue", _text),
        maybe("priority", _text),
        maybe("properties", _properties),
    ),
    unordered=True,
)
_lifecycle = Group((maybe("retention-stage", _retention_stage),), unordered=True)
_field_names = Group((many("field", _text, least=1),))
_extract = Group(
    (maybe("deltacolumn", _text), one("mergepolicy", lex.one_of("snapshot", "append"))),
    required={"type": lex.one_of("full", "incremental")},
)
_load = Group(required={"type": lex.one_of("updateonly", "allowinsert")})
_exchange_end = Group(
    (
        Place({"extract": _extract, "load": _load}),
        maybe(
            "fields",
            Group((Place({"includes": _field_names, "excludes": _field_names}),)),
        ),
    ),
    required={"name": lex.not_empty, "tableName": lex.not_empty},
    optional=_version,
)
_arguments = Group((many("argument", _pair),))

_feed_cluster = Group(
    (
        one("validity", _feed_validity),
        one(
            "retention",
            Group(
                required={"limit": lex.frequency, "action": lex.one_of("delete")},
                optional={"type": lex.one_of("instance")},
            ),
        ),
        maybe("sla", _feed_sla),
        maybe("import", Group((one("source", _exchange_end), maybe("arguments", _arguments)))),
        maybe("export", Group((one("target", _exchange_end), maybe("arguments", _arguments)))),
        Place({"locations": _locations, "table": _table}, least=0),
        maybe("lifecycle", _lifecycle),
    ),
    required={"name": lex.name},
    optional={
        "type": lex.one_of("source", "target"),
        "partition": _text,
        "delay": lex.frequency,
        **_version,
    },
)
_feed = Group(
    (
        maybe("tags", lex.tags),
        maybe("partitions", Group((many("partition", Group(required={"name": lex.name})),))),
        maybe("groups", lex.groups),
        maybe("availabilityFlag", _text),
        one("frequency", lex.frequency),
        maybe("sla", _feed_sla),
        maybe("timezone", _text),
        maybe("late-arrival", Group(required={"cut-off": lex.frequency})),
        one("clusters", Group((many("cluster", _feed_cluster, least=1),))),
        Place({"locations": _locations, "table": _table}),
        maybe("notification", _notification),
        one("ACL", _acl),
        one("schema", Group(required={"location": _text, "provider": _text})),
        maybe("properties", _properties),
        maybe("lifecycle", _lifecycle),
    ),
    required={"name": lex.name},
    optional={"description": _text, **_version},
)

_policy = lex.one_of("periodic", "exp-backoff", "final")
_process_sla = Group(optional={"shouldStartIn": lex.frequency, "shouldEndIn": lex.frequency})
_process_cluster = Group(
    (
        one("validity", Group(required={"start": lex.process_time, "end": lex.process_time})),
        maybe("sla", _process_sla),
    ),
    required={"name": lex.name},
    optional=_version,
)
_process = Group(
    (
        maybe("tags", lex.tags),
        maybe("pipelines", lex.pipelines),
        one("clusters", Group((many("cluster", _process_cluster, least=1),))),
        one("parallel", lex.integer(1, 12)),
        one("order", lex.one_of("FIFO", "LIFO", "LAST_ONLY")),
        maybe("timeout", lex.frequency),
        one("frequency", lex.frequency),
        maybe("sla", _process_sla),
        maybe("timezone", _text),
        maybe(
            "inputs",
            Group(
                (
                    many(
                        "input",
                        Group(
                            required={
                                "name": lex.name,
                                "feed": lex.name,
                                "start": _text,
                                "end": _text,
                            },
                            optional={"partition": _text, "optional": lex.boolean},
                        ),
                        least=1,
                    ),
                )
            ),
        ),
        maybe(
            "outputs",
            Group(
                (
                    many(
                        "output",
                        Group(required={"name": lex.name, "feed": lex.name, "instance": _text}),
                        least=1,
                    ),
                )
            ),
        ),
        maybe("properties", _properties),
        one(
            "workflow",
            Group(
                required={"path": _text},
                optional={
                    "name": _text,
                    "version": _text,
                    "engine": lex.one_of("oozie", "pig", "hive", "spark"),
                    "lib": _text,
                },
            ),
        ),
        maybe(
            "spark-attributes",
            Group(
                (
                    maybe("master", _text),
                    maybe("mode", _text),
                    one("name", _text),
                    maybe("class", _text),
                    one("jar", _text),
                    maybe("spark-opts", _text),
                    many("arg", _text),
                )
            ),
        ),
        maybe(
            "retry",
            Group(
                required={
                    "policy": _policy,
                    "delay": lex.frequency,
                    "attempts": lex.integer(1, 65535),
                },
                optional={"onTimeout": lex.boolean},
            ),
        ),
        maybe(
            "late-process",
            Group(
                (
                    many(
                        "late-input",
                        Group(required={"input": lex.name, "workflow-path": _text}),
                        least=1,
                    ),
                ),
                required={"policy": _policy, "delay": lex.frequency},
            ),
        ),
        maybe("notification", _notification),
        maybe("ACL", _acl),
    ),
    required={"name": lex.name},
    optional=_version,
)

_driver = Group((one("clazz", _text), many("jar", _text, least=1)))
_alias = Group((one("alias", _text), one("providerPath", _text)))
_credential = Group(
    (
        one("userName", _text),
        Place({"passwordFile": _text, "passwordText": _text, "passwordAlias": _alias}),
    ),
    required={"type": lex.one_of("password-file", "password-text", "password-alias")},
)
_datasource = Group(
    (
        maybe("tags", lex.tags),
        one(
            "interfaces",
            Group(
                (
                    many(
                        "interface",
                        Group(
                            (
                                maybe("driver", _driver),
                                maybe("credential", _credential),
                                maybe("properties", _properties),
                            ),
                            required={"type": lex.one_of("readonly", "write"), "endpoint": _text},
                        ),
                        least=1,
                        most=2,
                    ),
                    maybe("credential", _credential),
                )
            ),
        ),
        one("driver", _driver),
        maybe("properties", _properties),
        maybe("ACL", _acl),
    ),
    required={
        "name": lex.name,
        "colo": _text,
        "type": lex.one_of(
            "mysql", "oracle", "hsql", "postgres", "db2", "netezza", "teradata", "generic"
        ),
    },
    optional={"description": _text, **_version},
)

DOCUMENTS: Mapping[str, Group] = {
    "cluster": _cluster,
    "feed": _feed,
    "process": _process,
    "datasource": _datasource,
}


def check(root: Element) -> tuple[Problem, ...]:
    """Every way in which the tree is not one of the four documents, in document order."""
    shape = DOCUMENTS.get(root.name)
    if shape is None:
        wanted = ", ".join(DOCUMENTS)
        return (Problem(root.line, root.name, f"is not an entity: expected one of {wanted}"),)
    namespace = f"uri:falcon:{root.name}:0.1"
    if root.namespace != namespace:
        return (Problem(root.line, root.name, f"is not in the namespace {namespace}"),)
    return tuple(_problems(root, shape, namespace))


def _problems(element: Element, shape: Shape, namespace: str) -> Iterator[Problem]:
    for name in element.foreign:
        if name not in _HINTS:
            yield Problem(element.line, element.name, f"unexpected attribute {name.split()[-1]}")
    if isinstance(shape, Group):
        yield from _group_problems(element, shape, namespace)
        return
    for name in element.attributes:
        yield Problem(element.line, element.name, f"unexpected attribute {name}")
    for child in element.children:
        yield Problem(child.line, child.name, f"is not expected in {element.name}")
    if not element.children and (reason := shape(element.text)):
        yield Problem(element.line, element.name, reason)


def _group_problems(element: Element, shape: Group, namespace: str) -> Iterator[Problem]:
    for name, value in element.attributes.items():
        check_value = shape.required.get(name) or shape.optional.get(name)
        if check_value is None:
            yield Problem(element.line, element.name, f"unexpected attribute {name}")
        elif reason := check_value(value):
            yield Problem(element.line, element.name, f"{name}: {reason}")
    for name in shape.required:
        if name not in element.attributes:
            yield Problem(element.line, element.name, f"attribute {name} is missing")
    if element.text.strip(" \t\r\n") or (element.text and not shape.content):
        yield Problem(element.line, element.name, "has text where only elements belong")
    order = _unordered if shape.unordered else _ordered
    yield from order(element, shape, namespace)


def _ordered(element: Element, shape: Group, namespace: str) -> Iterator[Problem]:
    """Places are met in turn; one look ahead is enough, as no two neighbours share a name."""
    rest = list(reversed(element.children))
    for place in shape.content:
        count = 0
        while rest and rest[-1].name in place.choices and _in(namespace, rest[-1]):
            if place.most is not None and count >= place.most:
                break
            child = rest.pop()
            yield from _problems(child, place.choices[child.name], namespace)
            count += 1
        if count < place.least:
            yield _missing(element, place, count, rest)
            return
    for child in reversed(rest):
        yield Problem(child.line, child.name, f"is not expected here in {element.name}")
        return


def _missing(element: Element, place: Place, count: int, rest: list[Element]) -> Problem:
    wanted = f"expected {place}" if place.least == 1 else f"expected {place.least} {place}"
    if rest:
        return Problem(rest[-1].line, rest[-1].name, f"is not expected here: {wanted}")
    found = f", found {count}" if count else ""
    return Problem(element.line, element.name, f"is not complete: {wanted}{found}")


def _unordered(element: Element, shape: Group, namespace: str) -> Iterator[Problem]:
    places = {name: each for place in shape.content for name, each in place.choices.items()}
    for child in element.children:
        known = places.pop(child.name, None) if _in(namespace, child) else None
        if known is None:
            yield Problem(child.line, child.name, f"is not expected here in {element.name}")
        else:
            yield from _problems(child, known, namespace)


def _in(namespace: str, element: Element) -> bool:
    return element.namespace == namespace
