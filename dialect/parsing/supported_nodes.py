"""The parts of a parsed query that the analysis reads. A query with another part is refused.

sqlglot's parser also reads other SQL dialects, and more with every version: no part may be ignored.
"""

from sqlglot import exp

from dialect.errors import NotUnderstood

_ENDS = "order sort cluster distribute limit offset"
_UNDERSTOOD: dict[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(parts.split())
    for kind, parts in {
        exp.Select: "with_ hint distinct expressions from_ laterals joins pivots where group having"
        f" qualify windows {_ENDS}",
        exp.Distinct: "",
        exp.Subquery: f"with_ this alias laterals joins pivots sample {_ENDS}",
        exp.Union: f"with_ this expression distinct {_ENDS}",
        exp.Intersect: f"with_ this expression distinct {_ENDS}",
        exp.Except: f"with_ this expression distinct {_ENDS}",
        exp.With: "expressions recursive",
        exp.CTE: "this alias materialized",
        exp.Table: "this db catalog alias laterals joins pivots hints sample version when",
        exp.Join: "this on using side kind method hint pivots",
        exp.Lateral: "this view outer alias",
    }.items()
}


def check_supported(tree: exp.Expr) -> None:
    """Raises NotUnderstood for a tree with a part that the analysis does not read."""
    understood = _UNDERSTOOD.get(type(tree))
    if understood is None:
        return
    for name, value in tree.args.items():
        if value and name not in understood:
            raise NotUnderstood(f"{name.strip('_')} of a {tree.key}")
