"""Decides where a statement runs: the first of RULES that decides wins (DC-R*, DC-U*, D3, D4)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from conf.formats import size_text
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
from router.needed_copies import cheapest_copies, copy_hint, known_bytes
from router.needs import (
    InputTable,
    OutputTable,
    has_bare_path,
    inputs,
    is_query,
    only_selects,
    output_primaries,
    path_clusters,
    runs_anywhere,
)
from router.obstacles import Considered, Obstacle, ObstacleKind, describe
from router.request import Bound, Facts, Request

_COPY_REMOVES = (ObstacleKind.ABSENT, ObstacleKind.STALE)


@dataclass(frozen=True, slots=True)
class _Case:
    """A request with the needs of its statement."""

    request: Request
    facts: Facts
    primaries: dict[ClusterName, OutputTable]
    inputs: tuple[InputTable, ...]
    paths: frozenset[ClusterName]

    def obstacles(self, cluster: ClusterName) -> tuple[Obstacle, ...]:
        """The inputs and paths that the cluster lacks; empty if it has all."""
        found = [lack for each in self.inputs if (lack := each.obstacle_in(cluster)) is not None]
        if self.paths:
            others = sorted(self.paths - {cluster})
            found += [Obstacle(cluster, ObstacleKind.PATH, other=each) for each in others]
        return tuple(found)


def route(request: Request, facts: Facts) -> Decision:
    """The decision for one statement. `facts` has every table of `tables_needed`. Raises KeyError
    if it lacks one."""
    if isinstance(request.statement, Unknown):
        return _unknown(request, request.statement)
    case = _Case(
        request,
        facts,
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
        obstacle = Obstacle(pinned, ObstacleKind.SESSION, other=elsewhere.cluster)
        passed = _passed(pinned, "session", obstacle)
        return _refuse(BOUND_ELSEWHERE, "session", f"{because}: {statement.why}.", passed)
    if pinned is not None and not statement.writing and pinned in request.viewed:
        because = f"not understood ({statement.why}), writes nothing, session is pinned"
        return _run(pinned, "unknown", because)
    return _refuse(NOT_UNDERSTOOD, "unknown", f"The statement is not understood: {statement.why}.")


def _several_primaries(case: _Case) -> Decision | None:
    if len(case.primaries) < 2:
        return None
    outputs = sorted(case.primaries.items())
    named = ", ".join(f"{output} in {cluster}" for cluster, output in outputs)
    considered = [
        _passed(
            cluster, "DC-R3", *(_written(cluster, each) for each in outputs if each[0] != cluster)
        )
        for cluster, _ in outputs
    ]
    because = f"The outputs have different primary clusters: {named}."
    return _refuse(SEVERAL_PRIMARIES, "DC-R3", because, *considered)


def _pinned_elsewhere(case: _Case) -> Decision | None:
    pinned = case.request.pinned
    if pinned is None or not case.primaries or pinned in case.primaries:
        return None
    (output,) = case.primaries.items()
    primary, what = output
    return _refuse(
        WRONG_OUTPUT_CLUSTER,
        "DC-R2",
        f"The session is pinned to {pinned}, but {what} is written only in {primary}.",
        _passed(pinned, "DC-R2", _written(pinned, output)),
        _passed(primary, "DC-R2", Obstacle(primary, ObstacleKind.PINNED, other=pinned)),
    )


def _bound_elsewhere(case: _Case) -> Decision | None:
    bounds = case.request.bounds
    if not bounds:
        return None
    bound = bounds[0]
    if apart := _bound_to_several(bounds):
        return apart
    wanted = case.request.pinned or next(iter(case.primaries), bound.cluster)
    obstacles = case.obstacles(bound.cluster)
    if wanted == bound.cluster and not obstacles:
        return _run(bound.cluster, "session", bound.because)
    other = _reasons(obstacles, "; ") or f"the statement has to run in {wanted}"
    if wanted != bound.cluster:
        kind = ObstacleKind.PINNED if case.request.pinned else ObstacleKind.WRITTEN
        table = None if case.request.pinned else case.primaries[wanted].table
        obstacles = (*obstacles, Obstacle(bound.cluster, kind, table, other=wanted))
    because = f"{bound.because}, in {bound.cluster} only, but {other}."
    passed = _passed(bound.cluster, "session", *obstacles)
    return _refuse(BOUND_ELSEWHERE, "session", because, passed)


def _bound_to_several(bounds: tuple[Bound, ...]) -> Refuse | None:
    """Refuses a statement that uses objects of the session in several clusters."""
    first = bounds[0]
    other = next((each for each in bounds if each.cluster != first.cluster), None)
    if other is None:
        return None
    obstacle = Obstacle(first.cluster, ObstacleKind.SESSION, other=other.cluster)
    passed = _passed(first.cluster, "session", obstacle)
    return _refuse(BOUND_ELSEWHERE, "session", f"{first.because}, but {other.because}.", passed)


def _after_loss(case: _Case) -> Decision | None:
    """A read runs again in another cluster that has all inputs, if its cluster was lost: first
    those that DC-R7 tries, then the others in the order of the settings."""
    request, statement = case.request, case.request.statement
    lost = request.lost
    if lost is None or request.pinned is not None:
        return None
    assert isinstance(statement, Known)
    candidates = [cluster for each in case.inputs for cluster in each.clusters()]
    candidates += sorted(case.paths)
    if candidates or runs_anywhere(statement):
        candidates += request.clusters
    considered = [_passed(lost, "lost", Obstacle(lost, ObstacleKind.DOWN))]
    tied = has_bare_path(statement)
    others = (each for each in dict.fromkeys(candidates) if each != lost and not tied)
    lead = f"{lost} was lost while it ran the statement"
    return _run_elsewhere(case, others, lead, considered) or _run(
        lost, "lost", f"no other cluster can run the statement that {lost} lost", considered
    )


def _run_elsewhere(
    case: _Case, clusters: Iterable[ClusterName], lead: str, considered: list[Considered]
) -> Decision | None:
    """Runs in the first of the clusters that is up and has all inputs. Adds those before it to
    `considered`."""
    for cluster in clusters:
        obstacles = case.obstacles(cluster)
        if cluster in case.request.down:
            obstacles = (*obstacles, Obstacle(cluster, ObstacleKind.DOWN))
        if not obstacles:
            return _run(cluster, "lost", f"{lead}, and {cluster} has all inputs", considered)
        considered.append(_passed(cluster, "lost", *obstacles))
    return None


def _output_decides(case: _Case) -> Decision | None:
    if not case.primaries:
        return None
    ((primary, what),) = case.primaries.items()
    obstacles = case.obstacles(primary)
    if obstacles:
        passed = _passed(primary, "DC-R4", *obstacles)
        return _no_cluster(case, [passed], "DC-R4", f"{what} is written in {primary}")
    rule = "DC-U1" if case.request.pinned else "DC-R5"
    return _run(primary, rule, f"{primary} is the primary cluster of {what}")


def _pinned(case: _Case) -> Decision | None:
    pinned = case.request.pinned
    if pinned is None:
        return None
    obstacles = case.obstacles(pinned)
    if obstacles:
        reasons = _reasons(obstacles, "; ")
        because = f"The session is pinned to {pinned}, which cannot run this: {reasons}."
        passed = _passed(pinned, "DC-U1", *obstacles)
        return _with_copy_hint(case, _refuse(PINNED_CANNOT_RUN, "DC-U1", because, passed))
    return _run(pinned, "DC-U1", f"the session is pinned to {pinned}")


def _cost_decides(case: _Case) -> Decision | None:
    """With `router.choice = cost`, a query runs in the cheapest of DC-R7's clusters that can."""
    request, costs = case.request, case.request.costs
    if costs is None or not is_query(request.statement) or has_bare_path(request.statement):
        return None
    tried = _candidates(case)
    if len(tried) < 2:
        return None
    obstacles = {
        cluster: (Obstacle(cluster, ObstacleKind.DOWN),)
        if cluster in request.down
        else case.obstacles(cluster)
        for cluster in tried
    }
    valid = [cluster for cluster in tried if cluster in costs.expected and not obstacles[cluster]]
    if len(valid) < 2:
        return None
    chosen = costs.choose(valid)
    for cluster in valid:
        if cluster != chosen:
            obstacles[cluster] = (Obstacle(cluster, ObstacleKind.COST, other=chosen),)
    rule = "cost" if chosen == costs.best(valid) else "cost-probe"
    considered = (Considered(each, rule, each == chosen, obstacles[each]) for each in tried)
    return RunIn(chosen, rule, costs.reason(chosen, valid), tuple(considered))


def _inputs_decide(case: _Case) -> Decision | None:
    """Tries the inputs' primaries in turn (DC-R7), with the default cluster before them (D4).

    A read runs in a later cluster if an earlier one is down. A statement that creates a table does
    not, because the table stays in its cluster; nor does a read of a path without a scheme. If all
    clusters with the inputs are down, a query may run in one that is not tried.
    """
    request, statement = case.request, case.request.statement
    reads = isinstance(statement, Known) and not statement.writes
    down = request.down if reads and not has_bare_path(statement) else frozenset()
    considered: list[Considered] = []
    valid: list[ClusterName] = []
    tried = _candidates(case)
    for cluster in tried:
        rule, obstacles = _input_rule(request, cluster), case.obstacles(cluster)
        if obstacles:
            considered.append(_passed(cluster, rule, *obstacles))
        elif cluster not in down:
            return _run_with_inputs(request, cluster, valid, considered)
        else:
            valid.append(cluster)
            considered.append(_passed(cluster, rule, Obstacle(cluster, ObstacleKind.DOWN)))
    if valid:
        if request.moves and isinstance(statement, Known) and only_selects(statement):
            others = (each for each in request.clusters if each not in tried)
            lead = f"{_list(valid)} {'is' if len(valid) == 1 else 'are'} down"
            if found := _run_elsewhere(case, others, lead, considered):
                return found
        return _run_with_inputs(request, valid[0], [], considered)
    return _no_cluster(case, considered, "DC-R7", None) if considered else None


def _candidates(case: _Case) -> dict[ClusterName, None]:
    """The clusters that DC-R7 and D4 try for the inputs, in their order."""
    candidates = [cluster for each in case.inputs for cluster in each.clusters()]
    candidates += sorted(case.paths)
    if candidates and case.request.use_default:
        candidates.insert(0, case.request.default)
    return dict.fromkeys(candidates)


def _input_rule(request: Request, cluster: ClusterName) -> str:
    return "D4" if request.use_default and cluster == request.default else "DC-R7"


def _run_with_inputs(
    request: Request,
    cluster: ClusterName,
    down: list[ClusterName],
    considered: Sequence[Considered],
) -> Decision:
    """Runs in a cluster that has all inputs; the `down` clusters before it have them too."""
    rule, why = _input_rule(request, cluster), f" (down: {_list(down)})" if down else ""
    because = f"{cluster} is a primary cluster of an input and has them all{why}"
    if rule == "D4":
        because = f"{cluster} is the default cluster and has all inputs{why}"
    return _run(cluster, rule, because, considered)


def _default(case: _Case) -> Decision | None:
    """Runs in the default cluster; while it is down, in another one if every cluster can do it."""
    request, statement = case.request, case.request.statement
    assert isinstance(statement, Known)
    default = request.default
    because = f"no input decides; {default} is the default cluster"
    if any(not write.exists for write in statement.writes):
        return _run(default, "D3", because)
    if runs_anywhere(statement):
        cluster = first_up(default, request.clusters, request.down)
        if cluster != default:
            because = f"no input decides; the default cluster {default} is down, {cluster} is up"
            tried = takewhile(lambda each: each != cluster, (default, *request.clusters))
            passed = [
                _passed(each, "D11", Obstacle(each, ObstacleKind.DOWN))
                for each in dict.fromkeys(tried)
            ]
            return _run(cluster, "D11", because, passed)
    return _run(default, "D11", because)


RULES: tuple[Callable[[_Case], Decision | None], ...] = (
    _several_primaries,
    _pinned_elsewhere,
    _bound_elsewhere,
    _after_loss,
    _output_decides,
    _pinned,
    _cost_decides,
    _inputs_decide,
    _default,
)


def _no_cluster(case: _Case, passed: Sequence[Considered], rule: str, lead: str | None) -> Decision:
    reasons = "; ".join(f"{each.cluster}: {_reasons(each.obstacles, ', ')}" for each in passed)
    tried = _list(each.cluster for each in passed)
    text = f"No cluster has all inputs. Tried {tried}: {reasons}."
    because = f"{text} ({lead}.)" if lead else text
    return _with_copy_hint(case, _refuse(NO_CLUSTER_HAS_INPUTS, rule, because, *passed))


def _with_copy_hint(case: _Case, refused: Refuse) -> Refuse:
    """The refusal with a hint that names the copies with which the statement could run."""
    clusters = [
        each.cluster
        for each in refused.considered
        if all(obstacle.kind in _COPY_REMOVES for obstacle in each.obstacles)
    ]
    refused = _with_copies(case, refused, clusters)
    statements = copy_hint(case.inputs, case.facts, clusters)
    return replace(refused, hint=f"{refused.hint} {statements}") if statements else refused


def _with_copies(case: _Case, refused: Refuse, clusters: Iterable[ClusterName]) -> Refuse:
    """The refusal of a query with the copies after which it can run, if the session wants them
    (`Request.fetch`)."""
    request = case.request
    if not request.fetch or not is_query(request.statement):
        return refused
    up = [each for each in clusters if each not in request.down]
    copies = cheapest_copies(case.inputs, case.facts, up, request.lacking, request.fetch)
    if not copies:
        return refused
    size = known_bytes(copies)
    if size > request.fetch:
        allowed, wanted = size_text(request.fetch), size_text(size)
        reason = f"causeway.fetch.missing allows {allowed}, and the query lacks {wanted}."
        return replace(refused, hint=f"{refused.hint} {reason}")
    reason = f"causeway.fetch.missing copies it to {copies[0].target} when the query is run."
    return replace(refused, hint=f"{refused.hint} {reason}", copies=copies)


def _reasons(obstacles: Iterable[Obstacle], between: str) -> str:
    return between.join(map(describe, obstacles))


def _list(clusters: Iterable[ClusterName]) -> str:
    return ", ".join(clusters)


def _passed(cluster: ClusterName, rule: str, *obstacles: Obstacle) -> Considered:
    return Considered(cluster, rule, False, obstacles)


def _written(cluster: ClusterName, output: tuple[ClusterName, OutputTable]) -> Obstacle:
    """The obstacle that the output is written in another cluster."""
    return Obstacle(cluster, ObstacleKind.WRITTEN, output[1].table, other=output[0])


def _run(
    cluster: ClusterName, rule: str, because: str, considered: Sequence[Considered] = ()
) -> RunIn:
    """Runs in a cluster. `considered` may have it already, as one that is down."""
    if considered and any(each.cluster == cluster for each in considered):
        chosen = (replace(each, chosen=each.cluster == cluster) for each in considered)
        return RunIn(cluster, rule, because, tuple(chosen))
    return RunIn(cluster, rule, because, (*considered, Considered(cluster, rule, True)))


def _refuse(refusal: Refusal, rule: str, because: str, *considered: Considered) -> Refuse:
    return Refuse(refusal.code, refusal.sqlstate, rule, because, refusal.hint, considered)
