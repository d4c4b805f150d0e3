"""The names of rules that users see: in EXPLAIN CLUSTER, history, audit log, metrics and console.

Code and tests use a rule's id in docs/reference/specification.md. docs/reference/sql.md explains
the names.
"""

_NAMES = {
    "DC-N1": "no-clusters",
    "DC-R2": "pinned-elsewhere",
    "DC-R3": "several-primaries",
    "DC-R4": "output-lacks-inputs",
    "DC-R5": "output",
    "DC-R7": "inputs",
    "DC-U1": "pin",
    "D3": "new-table",
    "D4": "default-first",
    "D11": "default",
}


def rule_name(rule: str) -> str:
    """The name of the rule with this id. A rule without an id is called by its name already."""
    return _NAMES.get(rule, rule)
