"""Selects the cheapest copies for a weight of demands by a solver of integer programs (highspy).

highspy is the extra `advice`. Without it, and for large problems, the result is that of
`advice.solvers.search`.
"""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from advice.solvers.problem import SelectionProblem
from advice.solvers.search import search

LARGEST = 20_000  # problems with more copies in options do not go to the solver
SECONDS = 0.6  # the solver's time limit, after which it returns its best copies so far


def cheapest(problem: SelectionProblem, target: float, start: Iterable[int] = ()) -> frozenset[int]:
    """Copies that meet the target, or as much of it as the limits allow. They are the cheapest ones
    if the solver is installed and finds them in time, else those of `search`."""
    found = search(problem, target, start)
    size = sum(len(option) for options in problem.options for option in options)
    if size > LARGEST or not is_installed():
        return found
    solved = solve(problem, min(target, max(problem.met(found), 0.0)), found)
    return found if solved is None else solved


def is_installed() -> bool:
    return find_spec("highspy") is not None


def solve(
    problem: SelectionProblem, target: float, start: Iterable[int] = (), seconds: float = SECONDS
) -> frozenset[int] | None:
    """The solver's best copies that meet the target within `seconds`; None if it found none."""
    model = Model(problem, target)
    values = list(run(model, seconds, model.values_of(frozenset(start))).getSolution().col_value)
    if len(values) != len(model.costs):
        return None
    copies = range(len(problem.prices))
    selected = frozenset(copy for copy in copies if values[copy] > 0.5)
    if problem.met(selected) < target * (1 - 1e-6) or not problem.within_limits(selected):
        return None
    return selected


def run(model: "Model", seconds: float, start: list[float] | None) -> Any:
    """Runs the solver from the columns' values in `start`, and returns it."""
    highspy: Any = import_module("highspy")
    # Highs prints its name when it enables callbacks, before output can be switched off.
    quiet = type("Quiet", (highspy.Highs,), {"enableCallbacks": lambda _: None})
    solver = quiet()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", float(seconds))
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_rel_gap", 1e-4)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(model.costs), len(model.lower)
    program.col_cost_ = model.costs
    program.col_lower_ = [0.0] * len(model.costs)
    program.col_upper_ = [1.0] * len(model.costs)
    program.row_lower_, program.row_upper_ = model.lower, model.upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = model.starts
    program.a_matrix_.index_ = model.columns
    program.a_matrix_.value_ = model.values
    copies = len(model.problem.prices)
    integer, continuous = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    program.integrality_ = [integer] * copies + [continuous] * (len(model.costs) - copies)
    solver.passModel(program)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        solver.setSolution(solution)
    solver.run()
    return solver


class Model:
    """A problem as an integer program.

    There is a column (variable) for each copy, for each bundle (an option with several copies), and
    for each demand with several options. Rows (constraints) say that a demand's column is at most
    the sum of its bundles', and a bundle's at most each of its copies'.
    """

    def __init__(self, problem: SelectionProblem, target: float) -> None:
        self.problem = problem
        self.scale = max(problem.prices, default=1.0) or 1.0
        self.costs = [price / self.scale for price in problem.prices]
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.starts: list[int] = [0]
        self.columns: list[int] = []
        self.values: list[float] = []
        self._options_of_columns: list[tuple[tuple[int, ...], ...]] = []  # options of later columns
        bundles: dict[tuple[int, ...], int] = {}
        weights: dict[int, float] = {}
        always = 0.0
        for weight, options in zip(problem.weights, problem.options, strict=True):
            if () in options:
                always += weight
                continue
            if not options:
                continue
            found = [self._bundle(option, bundles) for option in dict.fromkeys(options)]
            column = found[0]
            if len(found) > 1:
                column = self._column(tuple(options))
                self._row(0.0, float("inf"), [(each, 1.0) for each in found] + [(column, -1.0)])
            weights[column] = weights.get(column, 0.0) + weight
        needed = (target - always) * (1 - 1e-9)
        if needed > 0:
            total = max(weights.values(), default=1.0)
            row = [(column, weight / total) for column, weight in weights.items()]
            self._row(needed / total, float("inf"), row)
        for limit in problem.limits:
            scale = limit.bound or 1.0
            loads = [(copy, load / scale) for copy, load in limit.loads.items()]
            self._row(-float("inf"), limit.bound / scale, loads)

    def _column(self, options: tuple[tuple[int, ...], ...]) -> int:
        self.costs.append(0.0)
        self._options_of_columns.append(options)
        return len(self.costs) - 1

    def _bundle(self, option: tuple[int, ...], bundles: dict[tuple[int, ...], int]) -> int:
        if len(option) == 1:
            return option[0]
        column = bundles.get(option)
        if column is None:
            column = bundles[option] = self._column((option,))
            for copy in option:
                self._row(0.0, float("inf"), [(copy, 1.0), (column, -1.0)])
        return column

    def _row(self, lower: float, upper: float, entries: list[tuple[int, float]]) -> None:
        self.lower.append(lower)
        self.upper.append(upper)
        for column, value in entries:
            self.columns.append(column)
            self.values.append(value)
        self.starts.append(len(self.columns))

    def values_of(self, selected: frozenset[int]) -> list[float]:
        """The columns' values if these copies are selected."""
        copies = [1.0 if copy in selected else 0.0 for copy in range(len(self.problem.prices))]
        later = [
            1.0 if any(selected.issuperset(option) for option in options) else 0.0
            for options in self._options_of_columns
        ]
        return copies + later
