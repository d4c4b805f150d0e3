"""The grammar of the four documents as data, and the check of a tree against it.

The rules are those of Falcon's published schemas, version 0.1: the order and number of elements,
attributes and values.
"""

from collections.abc import Mapping

from pipeline.falcon import validators
from pipeline.falcon.documents.schema import ComplexType, Particle, many, maybe, one, problems
from pipeline.falcon.documents.tree import Element
from pipeline.falcon.errors import DocumentProblem

_text = validators.anything
_version = {"version": validators.integer(-(2**31), 2**31 - 1)}
_pair = ComplexType(required={"name": _text, "value": _text})
_properties = ComplexType((many("property", _pair),))
_acl = ComplexType(optional={"owner": _text, "group": _text, "permission": _text})
_notification = ComplexType(
    required={"type": validators.one_of("email"), "to": _text},
    optional={"level": validators.one_of("attempt", "instance")},
)

_cluster = ComplexType(
    (
        maybe("tags", validators.tags),
        one(
            "interfaces",
            ComplexType(
                (
                    many(
                        "interface",
                        ComplexType(
                            required={
                                "type": validators.one_of(
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
            ComplexType(
                (
                    many(
                        "location",
                        ComplexType(
                            required={
                                "name": validators.one_of("staging", "working", "temp"),
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
    required={"name": validators.name, "colo": _text},
    optional={"description": _text, **_version},
)

_feed_validity = ComplexType(required={"start": validators.feed_time, "end": validators.feed_time})
_feed_sla = ComplexType(required={"slaLow": validators.frequency, "slaHigh": validators.frequency})
_locations = ComplexType(
    (
        many(
            "location",
            ComplexType(
                required={
                    "type": validators.one_of("data", "stats", "meta", "tmp"),
                    "path": validators.not_empty,
                }
            ),
        ),
    )
)
_table = ComplexType(required={"uri": _text})
_retention_stage = ComplexType(
    (
        maybe("policy", validators.not_empty),
        maybe("frequency", validators.frequency),
        maybe("queue", _text),
        maybe("priority", _text),
        maybe("properties", _properties),
    ),
    unordered=True,
)
_lifecycle = ComplexType((maybe("retention-stage", _retention_stage),), unordered=True)
_field_names = ComplexType((many("field", _text, least=1),))
_extract = ComplexType(
    (maybe("deltacolumn", _text), one("mergepolicy", validators.one_of("snapshot", "append"))),
    required={"type": validators.one_of("full", "incremental")},
)
_load = ComplexType(required={"type": validators.one_of("updateonly", "allowinsert")})
_exchange_end = ComplexType(
    (
        Particle({"extract": _extract, "load": _load}),
        maybe(
            "fields",
            ComplexType((Particle({"includes": _field_names, "excludes": _field_names}),)),
        ),
    ),
    required={"name": validators.not_empty, "tableName": validators.not_empty},
    optional=_version,
)
_arguments = ComplexType((many("argument", _pair),))

_feed_cluster = ComplexType(
    (
        one("validity", _feed_validity),
        maybe(
            "retention",
            ComplexType(
                required={"limit": validators.frequency, "action": validators.one_of("delete")},
                optional={"type": validators.one_of("instance")},
            ),
        ),
        maybe("sla", _feed_sla),
        maybe(
            "import", ComplexType((one("source", _exchange_end), maybe("arguments", _arguments)))
        ),
        maybe(
            "export", ComplexType((one("target", _exchange_end), maybe("arguments", _arguments)))
        ),
        Particle({"locations": _locations, "table": _table}, least=0),
        maybe("lifecycle", _lifecycle),
    ),
    required={"name": validators.name},
    optional={
        "type": validators.one_of("source", "target"),
        "partition": _text,
        "delay": validators.frequency,
        **_version,
    },
)
_feed = ComplexType(
    (
        maybe("tags", validators.tags),
        maybe(
            "partitions",
            ComplexType((many("partition", ComplexType(required={"name": validators.name})),)),
        ),
        maybe("groups", validators.groups),
        maybe("availabilityFlag", _text),
        one("frequency", validators.frequency),
        maybe("sla", _feed_sla),
        maybe("timezone", _text),
        maybe("late-arrival", ComplexType(required={"cut-off": validators.frequency})),
        one("clusters", ComplexType((many("cluster", _feed_cluster, least=1),))),
        Particle({"locations": _locations, "table": _table}),
        maybe("notification", _notification),
        one("ACL", _acl),
        one("schema", ComplexType(required={"location": _text, "provider": _text})),
        maybe("properties", _properties),
        maybe("lifecycle", _lifecycle),
    ),
    required={"name": validators.name},
    optional={"description": _text, **_version},
)

_policy = validators.one_of("periodic", "exp-backoff", "final")
_process_sla = ComplexType(
    optional={"shouldStartIn": validators.frequency, "shouldEndIn": validators.frequency}
)
_process_cluster = ComplexType(
    (
        one(
            "validity",
            ComplexType(
                required={"start": validators.process_time, "end": validators.process_time}
            ),
        ),
        maybe("sla", _process_sla),
    ),
    required={"name": validators.name},
    optional=_version,
)
_process = ComplexType(
    (
        maybe("tags", validators.tags),
        maybe("pipelines", validators.pipelines),
        one("clusters", ComplexType((many("cluster", _process_cluster, least=1),))),
        one("parallel", validators.integer(1, 12)),
        one("order", validators.one_of("FIFO", "LIFO", "LAST_ONLY")),
        maybe("timeout", validators.frequency),
        one("frequency", validators.frequency),
        maybe("sla", _process_sla),
        maybe("timezone", _text),
        maybe(
            "inputs",
            ComplexType(
                (
                    many(
                        "input",
                        ComplexType(
                            required={
                                "name": validators.name,
                                "feed": validators.name,
                                "start": _text,
                                "end": _text,
                            },
                            optional={"partition": _text, "optional": validators.boolean},
                        ),
                        least=1,
                    ),
                )
            ),
        ),
        maybe(
            "outputs",
            ComplexType(
                (
                    many(
                        "output",
                        ComplexType(
                            required={
                                "name": validators.name,
                                "feed": validators.name,
                                "instance": _text,
                            }
                        ),
                        least=1,
                    ),
                )
            ),
        ),
        maybe("properties", _properties),
        one(
            "workflow",
            ComplexType(
                required={"path": _text},
                optional={
                    "name": _text,
                    "version": _text,
                    "engine": validators.one_of("oozie", "pig", "hive", "spark"),
                    "lib": _text,
                },
            ),
        ),
        maybe(
            "spark-attributes",
            ComplexType(
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
            ComplexType(
                required={
                    "policy": _policy,
                    "delay": validators.frequency,
                    "attempts": validators.integer(1, 65535),
                },
                optional={"onTimeout": validators.boolean},
            ),
        ),
        maybe(
            "late-process",
            ComplexType(
                (
                    many(
                        "late-input",
                        ComplexType(required={"input": validators.name, "workflow-path": _text}),
                        least=1,
                    ),
                ),
                required={"policy": _policy, "delay": validators.frequency},
            ),
        ),
        maybe("notification", _notification),
        maybe("ACL", _acl),
    ),
    required={"name": validators.name},
    optional=_version,
)

_driver = ComplexType((one("clazz", _text), many("jar", _text, least=1)))
_alias = ComplexType((one("alias", _text), one("providerPath", _text)))
_credential = ComplexType(
    (
        one("userName", _text),
        Particle({"passwordFile": _text, "passwordText": _text, "passwordAlias": _alias}),
    ),
    required={"type": validators.one_of("password-file", "password-text", "password-alias")},
)
_datasource = ComplexType(
    (
        maybe("tags", validators.tags),
        one(
            "interfaces",
            ComplexType(
                (
                    many(
                        "interface",
                        ComplexType(
                            (
                                maybe("driver", _driver),
                                maybe("credential", _credential),
                                maybe("properties", _properties),
                            ),
                            required={
                                "type": validators.one_of("readonly", "write"),
                                "endpoint": _text,
                            },
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
        "name": validators.name,
        "colo": _text,
        "type": validators.one_of(
            "mysql", "oracle", "hsql", "postgres", "db2", "netezza", "teradata", "generic"
        ),
    },
    optional={"description": _text, **_version},
)

DOCUMENTS: Mapping[str, ComplexType] = {
    "cluster": _cluster,
    "feed": _feed,
    "process": _process,
    "datasource": _datasource,
}


def check(root: Element) -> tuple[DocumentProblem, ...]:
    """All problems of a tree, in document order; empty if it is one of the four documents."""
    expected = DOCUMENTS.get(root.name)
    if expected is None:
        reason = f"is not an entity: expected one of {', '.join(DOCUMENTS)}"
        return (DocumentProblem(root.line, root.name, reason),)
    namespace = f"uri:falcon:{root.name}:0.1"
    if root.namespace != namespace:
        return (DocumentProblem(root.line, root.name, f"is not in the namespace {namespace}"),)
    return tuple(problems(root, expected, namespace))
