"""Where a statement runs: rules in order, the first that answers wins (DC-R*, DC-U*, D3, D4)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conf.names import ClusterName
from conf.topology import first_up
from dialect.statement import Known, Unknown
from router.decision import Decision, Refuse, RunIn
from router.errors import (
    BOUND_ELSEWHERE,
    NO_CLUSTER_HAS_INPUTS,
    NOT_UNDERSTOOD,
    PINNED_CANNOT_RUN,
    SEVERAL_PRIMARIES,
    WRONG_OUTPUT_CLUSTER,
    Refusal,
)
from router.needs import Input, inputs, output_primaries, path_clusters, runs_anywhere
from router.request import Bound, Facts, Request


@dataclass(frozen=True, slots=True)
class _Case:
    """A request with what follows from its facts."""

    request: Request
    primaries: dict[ClusterName, str]
    inputs: tuple[Input, ...]
    paths: frozenset[ClusterName]

    def obstacles(self, cluster: ClusterName) -> list[str]:
        """Why the statement cannot run in the cluster; empty when it can."""
        missing = [words for each in self.inputs if (words := each.missing_in(cluster)) is not None]
        missing += [f"a path lies in {owner}" for owner in sorted(self.paths - {cluster})]
        return missing


def route(request: Request, facts: Facts) -> Decision:
    """The decision for one statement. `facts` has every table of `tables_needed`.

    Pure. Raises KeyError when a needed table was not looked up.
    """
    if isinstance(request.statement, Unknown):
        return _unknown(request, request.statement)
    case = _Case(
        request,
        output_primaries(request.statement, facts),
        inputs(request.statement, facts, request.coverage),
        path_clusters(request, request.statement),
    )
    for rule in RULES:
        decision = rule(case)
        if decision is not None:
            return decision
    raise AssertionError("the last rule always decides")


def _unknown(request: Request, statement: Unknown) -> Decision:
    pinned = request.pinned
    elsewhere = next((each for each in request.bounds if each.cluster != pinned), None)
    if pinned is not None and elsewhere is not None and not statement.writing:
        because = f"{elsewhere.because}, and the statement may use it, being not understood"
        return _refuse(BOUND_ELSEWHERE, "session", f"{because}: {statement.why}.")
    if pinned is not None and not statement.writing and pinned in request.viewed:
        return RunIn(
            pinned, "D11", f"not understood ({statement.why}), writes nothing, session is pinned"
        )
    return _refuse(NOT_UNDERSTOOD, "D11", f"The statement is not understood: {statement.why}.")


def _several_primaries(case: _Case) -> Decision | None:
    if len(case.primaries) < 2:
        return None
    named = ", ".join(f"{what} in {cluster}" for cluster, what in sorted(case.primaries.items()))
    return _refuse(
        SEVERAL_PRIMARIES, "DC-R3", f"The outputs have different primary clusters: {named}."
    )


def _pinned_elsewhere(case: _Case) -> Decision | None:
    pinned = case.request.pinned
    if pinned is None or not case.primaries or pinned in case.primaries:
        return None
    ((primary, what),) = case.primaries.items()
    return _refuse(
        WRONG_OUTPUT_CLUSTER,
        "DC-R2",
        f"The session is pinned to {pinned}, but {what} is written only in {primary}.",
    )


def _bound_elsewhere(case: _Case) -> Decision | None:
    bounds = case.request.bounds
    if not bounds:
        return None
    bound = bounds[0]
    if apart := _apart(bounds):
        return apart
    wanted = case.request.pinned or next(iter(case.primaries), bound.cluster)
    obstacles = case.obstacles(bound.cluster)
    if wanted == bound.cluster and not obstacles:
        return RunIn(bound.cluster, "session", bound.because)
    other = "; ".join(obstacles) or f"the statement has to run in {wanted}"
    return _refuse(
        BOUND_ELSEWHERE, "session", f"{bound.because}, in {bound.cluster} only, but {other}."
    )


def _apart(bounds: tuple[Bound, ...]) -> Refuse | None:
    """Two objects in different clusters are never in one statement."""
    first = bounds[0]
    other = next((each for each in bounds if each.cluster != first.cluster), None)
    if other is None:
        return None
    return _refuse(BOUND_ELSEWHERE, "session", f"{first.because}, but {other.because}.")


def _output_decides(case: _Case) -> Decision | None:
    if not case.primaries:
        return None
    ((primary, what),) = case.primaries.items()
    obstacles = case.obstacles(primary)
    if obstacles:
        return _no_cluster(case, {primary: obstacles}, "DC-R4", f"{what} is written in {primary}")
    rule = "DC-U1" if case.request.pinned else "DC-R5"
    return RunIn(primary, rule, f"{primary} is the primary cluster of {what}")


def _pinned(case: _Case) -> Decision | None:
    pinned = case.request.pinned
    if pinned is None:
        return None
    obstacles = case.obstacles(pinned)
    if obstacles:
        return _refuse(
            PINNED_CANNOT_RUN,
            "DC-U1",
            f"The session is pinned to {pinned}, which cannot run this: {'; '.join(obstacles)}.",
        )
    return RunIn(pinned, "DC-U1", f"the session is pinned to {pinned}")


def _inputs_decide(case: _Case) -> Decision | None:
    """DC-R7: the inputs' primaries one by one; D4: the default cluster before them.

    What only reads passes by a cluster that is down where a later one has all inputs just as
    well. What makes a table does not: a table stays where it was made.
    """
    request = case.request
    reads = isinstance(request.statement, Known) and not request.statement.writes
    down = request.down if reads else frozenset()
    candidates = [cluster for each in case.inputs for cluster in each.clusters()]
    candidates += sorted(case.paths)
    if candidates and request.use_default:
        candidates.insert(0, request.default)
    tried: dict[ClusterName, list[str]] = {}
    valid: list[ClusterName] = []
    for cluster in dict.fromkeys(candidates):
        obstacles = case.obstacles(cluster)
        if obstacles:
            tried[cluster] = obstacles
        elif cluster not in down:
            return _valid(case, cluster, valid)
        else:
            valid.append(cluster)
    if valid:
        return _valid(case, valid[0], [])
    return _no_cluster(case, tried, "DC-R7", None) if tried else None


def _valid(case: _Case, cluster: ClusterName, passed: list[ClusterName]) -> Decision:
    why = f" (down: {_list(passed)})" if passed else ""
    if case.request.use_default and cluster == case.request.default:
        return RunIn(cluster, "D4", f"{cluster} is the default cluster and has all inputs{why}")
    because = f"{cluster} is a primary cluster of an input and has them all{why}"
    return RunIn(cluster, "DC-R7", because)


def _default(case: _Case) -> Decision | None:
    """The default cluster. While it is down, another one for what every cluster can do."""
    request, statement = case.request, case.request.statement
    assert isinstance(statement, Known)
    default = request.default
    because = f"no input decides; {default} is the default cluster"
    if any(not write.exists for write in statement.writes):
        return RunIn(default, "D3", because)
    if runs_anywhere(statement):
        cluster = first_up(default, request.clusters, request.down)
        if cluster != default:
            because = f"no input decides; the default cluster {default} is down, {cluster} is up"
            return RunIn(cluster, "D11", because)
    return RunIn(default, "D11", because)


RULES: tuple[Callable[[_Case], Decision | None], ...] = (
    _several_primaries,
    _pinned_elsewhere,
    _bound_elsewhere,
    _output_decides,
    _pinned,
    _inputs_decide,
    _default,
)


def _no_cluster(
    case: _Case, tried: dict[ClusterName, list[str]], rule: str, lead: str | None
) -> Decision:
    reasons = "; ".join(f"{cluster}: {', '.join(words)}" for cluster, words in tried.items())
    text = f"No cluster has all inputs. Tried {_list(tried)}: {reasons}."
    return _refuse(NO_CLUSTER_HAS_INPUTS, rule, f"{text} ({lead}.)" if lead else text)


def _list(clusters: Iterable[ClusterName]) -> str:
    return ", ".join(clusters)


def _refuse(refusal: Refusal, rule: str, because: str) -> Refuse:
    return Refuse(refusal.code, refusal.sqlstate, rule, because, refusal.hint)
