"""The claim that a statement carries to its cluster, and the guard's refusals of it.

A cluster without a guard gets no claim. The guard refuses a claim that no longer holds, because a
write began after the decision: nothing has run, and the statement is routed again. It also refuses
a statement for which Spark reads a partition that the analysis left out: the statement is then
routed by all partitions of its tables.
"""

from collections.abc import Iterable, Mapping

from conf.names import ClusterName, PartitionRef, TableRef
from dialect.statement import Unknown
from proxy.errors import NotIncremental, ThriftServerError, refusal
from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.statement.machine.events import MarkedWrite, Routed
from router.access.statement_access import refuse_without_guard
from router.claim import KEY, WholeUnless, claim_of, encode
from router.errors import CHANGED_AFTER_DECISION, PARTITION_NOT_CLAIMED, Refusal


def claim_overlay(
    routed: Routed,
    cluster: ClusterName,
    targets: Iterable[TableRef | PartitionRef],
    token: MarkedWrite | None,
) -> Mapping[str, str]:
    """The setting for the statement's overlay that has the claim. `token` is its marked write."""
    marks = () if token is None else (token.id,)
    claim = claim_of(
        routed.statement, cluster, routed.facts, routed.coverage, targets=targets, marks=marks,
        changes=routed.changes, restricted=routed.restricted,
    )  # fmt: skip
    return {KEY: encode(claim)}


def check_unguarded(cluster: ClusterName, routed: Routed) -> None:
    """Checks a statement that will run in a cluster without a guard: no guard would filter rows.

    Raises ThriftServerError if the user may see only a part of a table, and NotIncremental if the
    session reads only changed rows of a table.
    """
    if restricted := routed.restricted:
        raise ThriftServerError(refusal(refuse_without_guard(restricted, cluster)))
    is_unknown = isinstance(routed.statement, Unknown)
    changes = routed.changes.items()
    ranges = ((table, each) for table, each in changes if not isinstance(each, WholeUnless))
    if tables := [table for table, each in ranges if each or is_unknown]:
        raise NotIncremental(
            f"The session reads only changed rows of {', '.join(tables)}, but cluster {cluster} has"
            " no guard, which does so. Use hudi_table_changes('<table>', 'latest_state',"
            " '<begin>'[, '<end>']) in place of the table."
        )


def is_outdated(status: Status) -> bool:
    """Whether the guard refused the statement because a table changed after the decision
    (CW363)."""
    return _is_refused(status, CHANGED_AFTER_DECISION)


def reads_more(status: Status) -> bool:
    """Whether the guard refused the statement because Spark reads a partition that the analysis
    left out, and whose files the cluster lacks (CW362)."""
    return _is_refused(status, PARTITION_NOT_CLAIMED)


def _is_refused(status: Status, refusal: Refusal) -> bool:
    failure = status.failure
    if failure is None or status.state is not OperationState.ERROR:
        return False
    return f"[{refusal.code}]" in failure.message
