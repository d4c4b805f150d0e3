"""The local variables of a script: which names a statement of it assigns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import spend_on_tokens

# Before the name of a variable of the session.
_OF_SESSION = frozenset({"session", "system", "builtin"})


@dataclass(slots=True)
class LocalVariables:
    """The variables of the blocks around the place that is read, each with its block's label."""

    _scopes: list[tuple[str, set[str]]] = field(default_factory=list)

    @contextmanager
    def in_scope(self, label: str) -> Iterator[None]:
        """Within a block. An empty label is none."""
        self._scopes.append((label, set()))
        yield
        self._scopes.pop()

    def declare(self, parts: Sequence[str]) -> None:
        """Raises NotUnderstood for a name with dots, which may be that of a session's variable."""
        if len(parts) != 1:
            raise NotUnderstood(f"DECLARE {'.'.join(parts)} in a script")
        self._scopes[-1][1].add(parts[0])

    def assigned(self, parts: Sequence[str]) -> str:
        """The name of the local variable `x` or `label.x`. Raises NotUnderstood for another one: it
        may be the session's, or a setting."""
        label, name = ("", parts[0]) if len(parts) == 1 else (parts[0], parts[-1])
        known = len(parts) < 3 and label not in _OF_SESSION
        if known and any(name in names and label in ("", own) for own, names in self._scopes):
            return name
        raise NotUnderstood(f"SET of {'.'.join(parts)}, which is no local variable of the script")

    def visible(self) -> frozenset[str]:
        spend_on_tokens(sum(len(names) for _, names in self._scopes))
        return frozenset().union(*(names for _, names in self._scopes))
