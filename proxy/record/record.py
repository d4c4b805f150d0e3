"""The record of one statement for operators: the audit log, metrics, history and telemetry."""

import re
import time
from dataclasses import dataclass, field, replace

from conf.errors import Blame
from conf.formats import utc
from dialect.statement import Known, Unknown
from proxy.errors import Failure
from proxy.protocol.status import blame_of
from proxy.protocol.types import OperationState
from proxy.record.masking import masked_message
from proxy.record.statement_text import StatementText
from router.decision import Answer, Decision
from router.obstacles import Considered
from router.request import Facts
from router.rule_names import rule_name

MAX_ERROR = 16 << 10  # characters
MAX_OBSTACLES = 20
# A code may follow the name of Spark's exception: then it is that of a guard or a view.
_CODE = re.compile(r"[^\[]{0,300}\[(CW[0-9]{3})\] ")


@dataclass(slots=True)
class Record:
    """The record of one statement.

    - `user`: the user as whom it runs; `by`: the authenticated user, who may act for `user`;
    - `began`: Unix time; `seconds`: until its client could know the outcome; `phases`: seconds by
      the phase's name;
    - `rule`, `because`, `considered`: from the router's decision; `cluster`: where it ran;
    - `code`: of Causeway's refusal or error;
    - `rows`, `bytes`: sent to the client; `rows` is None if a reply did not have their number;
    - `first_row`: seconds until the first rows were sent; `fetch`: seconds of all replies with
      rows;
    - `over`: its task has ended; `closed`: its client can fetch no more rows; `written`: the audit
      log has it.
    """

    user: str = ""
    by: str = ""
    address: str = ""
    application: str = ""
    session: str = ""
    database: str = ""
    statement: str = ""
    text: StatementText = field(default_factory=StatementText)
    began: float = field(default_factory=time.time)
    phases: dict[str, float] = field(default_factory=dict)
    analysis: Known | Unknown | None = None
    facts: Facts = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    rule: str = ""
    because: str = ""
    considered: tuple[Considered, ...] = ()
    cluster: str = ""
    code: str = ""
    state: OperationState = OperationState.PENDING
    seconds: float | None = None
    rows: int | None = 0
    bytes: int = 0
    first_row: float | None = None
    fetch: float = 0.0
    error: str = ""
    blame: Blame | None = None
    over: bool = False
    closed: bool = False
    written: bool = False
    _first: float = field(default_factory=time.perf_counter)
    _last: float = field(default_factory=time.perf_counter)

    @property
    def kept(self) -> int:
        """The characters of text that it keeps in memory."""
        return self.text.kept

    @property
    def refused(self) -> bool:
        """Whether Causeway ended it before a cluster ran it."""
        if self.state is not OperationState.ERROR:
            return False
        return not self.phases or (bool(self.code) and "execute" not in self.phases)

    def finish(self) -> None:
        """Marks the record as over, and drops its large parts."""
        self.over = True
        self.reads, self.writes = self.tables()
        self.analysis = None
        self.facts = {}

    def decided(self, statement: Known | Unknown, decision: Decision, facts: Facts) -> None:
        """Keeps the decision, with at most `MAX_OBSTACLES` obstacles of each cluster."""
        self.analysis, self.facts = statement, facts
        self.rule, self.because = rule_name(decision.rule), decision.because[:MAX_ERROR]
        considered = () if isinstance(decision, Answer) else decision.considered
        if any(len(each.obstacles) > MAX_OBSTACLES for each in considered):
            considered = tuple(
                replace(each, obstacles=each.obstacles[:MAX_OBSTACLES]) for each in considered
            )
        self.considered = considered

    def moved(self, again: "Record") -> None:
        """Takes the decision of the record `again`: the query ran again in another cluster."""
        self.cluster, self.rule, self.because = again.cluster, again.rule, again.because
        self.considered = again.considered

    def tables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the tables that are read, and of those that are written."""
        if not isinstance(self.analysis, Known):
            return self.reads, self.writes
        reads = tuple(sorted({str(read.table) for read in self.analysis.reads}))
        return reads, tuple(sorted({str(write.table) for write in self.analysis.writes}))

    def mark(self, phase: str) -> None:
        """Adds the time since the last mark to this phase."""
        now = time.perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._last
        self._last = now

    def end(self, state: OperationState, failure: Failure | None) -> None:
        """Keeps the outcome, which the client can see now. A second call does not change
        `seconds`."""
        self.state = state
        if self.seconds is None:
            self.seconds = time.perf_counter() - self._first
        if failure is not None:
            self.error = failure.message[:MAX_ERROR]
            self.blame = blame_of(failure)
            if coded := _CODE.match(self.error):
                self.code = coded[1]

    def all_phases(self) -> dict[str, float]:
        """A copy of `phases`, with those of sent rows; it may go to another thread."""
        phases = self.phases.copy()
        if self.first_row is not None:
            phases |= {"first_row": self.first_row, "fetch": self.fetch}
        return phases

    def sent(self, length: int, rows: int | None, seconds: float) -> None:
        """Counts a reply with rows, sent to the client `seconds` after its request."""
        if self.first_row is None:
            self.first_row = time.perf_counter() - self._first
        self.fetch += seconds
        self.bytes += length
        self.rows = None if rows is None or self.rows is None else self.rows + rows

    def line(self, brief: bool = False) -> dict[str, object]:
        """The record as the audit log has it: in JSON's types, with secrets masked. With `brief`
        only the beginning of the text, which is quick for any length."""
        reads, writes = self.tables()
        return {
            "time": utc(self.began),
            "event": "statement",
            "user": self.user,
            "by": self.by,
            "address": self.address,
            "application": self.application,
            "session": self.session,
            "statement": self.statement,
            "database": self.database,
            "text": self.text.brief() if brief else self.text.shown(),
            "length": self.text.length,
            "sha256": self.text.hash,
            "reads": reads,
            "writes": writes,
            "rule": self.rule,
            "because": masked_message(self.because),
            "considered": [each.document() for each in self.considered],
            "cluster": self.cluster,
            "code": self.code,
            "state": self.state.name,
            "seconds": None if self.seconds is None else round(self.seconds, 6),
            "phases": {name: round(spent, 6) for name, spent in self.all_phases().items()},
            "rows": self.rows,
            "bytes": self.bytes,
            "error": masked_message(self.error),
            "blame": self.blame.value if self.blame else "",
        }
