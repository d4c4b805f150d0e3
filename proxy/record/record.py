"""The record of one statement for operators: kept while it runs, cheap to write."""

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
# Also what a guard or a view says, behind the name of Spark's exception.
_CODE = re.compile(r"[^\[]{0,300}\[(CW[0-9]{3})\] ")


@dataclass(slots=True)
class Record:
    """`user` is the user as whom the statement runs, `by` the authenticated user who acts for them.
    `phases` are seconds by name; `began` is Unix time. `rule`, `because` and `considered` are the
    router's, `cluster` is where it ran, `code` that of a refusal or failure of ours. `rows` and
    `bytes` are those sent to the client; rows are None where a reply did not say how many it has.
    `first_row` is the time from the beginning until the first of them were sent, `fetch` the time
    of all replies with rows.

    A record is `over` when the statement's task is, `closed` when its client can fetch no more.
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
    what: Known | Unknown | None = None
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
        """Characters in memory."""
        return self.text.kept

    @property
    def refused(self) -> bool:
        """Whether Causeway ended it before a cluster ran it."""
        if self.state is not OperationState.ERROR:
            return False
        return not self.phases or (bool(self.code) and "execute" not in self.phases)

    def finish(self) -> None:
        """The statement's task is over: what is kept from here on is small."""
        self.over = True
        self.reads, self.writes = self.tables()
        self.what = None
        self.facts = {}

    def decided(self, statement: Known | Unknown, decision: Decision, facts: Facts) -> None:
        """Keeps the decision, of each cluster at most `MAX_OBSTACLES` obstacles."""
        self.what, self.facts = statement, facts
        self.rule, self.because = rule_name(decision.rule), decision.because[:MAX_ERROR]
        considered = () if isinstance(decision, Answer) else decision.considered
        if any(len(each.obstacles) > MAX_OBSTACLES for each in considered):
            considered = tuple(
                replace(each, obstacles=each.obstacles[:MAX_OBSTACLES]) for each in considered
            )
        self.considered = considered

    def moved(self, again: "Record") -> None:
        """The statement ran again, in the cluster of the record `again`."""
        self.cluster, self.rule, self.because = again.cluster, again.rule, again.because
        self.considered = again.considered

    def tables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is read and what is written, by name."""
        if not isinstance(self.what, Known):
            return self.reads, self.writes
        reads = tuple(sorted({str(read.table) for read in self.what.reads}))
        return reads, tuple(sorted({str(write.table) for write in self.what.writes}))

    def mark(self, phase: str) -> None:
        """All since the last mark was this phase."""
        now = time.perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._last
        self._last = now

    def end(self, state: OperationState, failure: Failure | None) -> None:
        """The client can know the outcome now. A second call changes no duration."""
        self.state = state
        if self.seconds is None:
            self.seconds = time.perf_counter() - self._first
        if failure is not None:
            self.error = failure.message[:MAX_ERROR]
            self.blame = blame_of(failure)
            if coded := _CODE.match(self.error):
                self.code = coded[1]

    def all_phases(self) -> dict[str, float]:
        """`phases`, and those of the rows that were sent; a copy, for any thread."""
        phases = self.phases.copy()
        if self.first_row is not None:
            phases |= {"first_row": self.first_row, "fetch": self.fetch}
        return phases

    def sent(self, length: int, rows: int | None, seconds: float) -> None:
        """A reply with rows went to the client, within so many seconds of its request."""
        if self.first_row is None:
            self.first_row = time.perf_counter() - self._first
        self.fetch += seconds
        self.bytes += length
        self.rows = None if rows is None or self.rows is None else self.rows + rows

    def line(self, brief: bool = False) -> dict[str, object]:
        """As the audit log has it: secrets masked, JSON's types. `brief`: with the beginning of the
        text alone, which is quick for any text."""
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
