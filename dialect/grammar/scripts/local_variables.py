"""The local variables of a script by scope."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import spend_on_tokens

# Qualifiers of the session's variables.
_OF_SESSION = frozenset({"session", "system", "builtin"})


@dataclass(slots=True)
class LocalVariables:
    """The variables of the blocks around the current statement, each with its block's label."""

    _scopes: list[tuple[str, set[str]]] = field(default_factory=list)

    @contextmanager
    def in_scope(self, label: str) -> Iterator[None]:
        """Adds the scope of a block inside the `with` statement. An empty label means none."""
        self._scopes.append((label, set()))
        yield
        self._scopes.pop()

    def declare(self, parts: Sequence[str]) -> None:
        """Adds a variable to the innermost block. Raises NotUnderstood for a name with dots, which
        may mean a variable of the session."""
        if len(parts) != 1:
            raise NotUnderstood(f"DECLARE {'.'.join(parts)} in a script")
        self._scopes[-1][1].add(parts[0])

    def assigned(self, parts: Sequence[str]) -> str:
        """The name of the local variable `x` or `label.x`. Raises NotUnderstood if there is none:
        it may be a variable of the session, or a setting."""
        label, name = ("", parts[0]) if len(parts) == 1 else (parts[0], parts[-1])
        known = len(parts) < 3 and label not in _OF_SESSION
        if known and any(name in names and label in ("", own) for own, names in self._scopes):
            return name
        raise NotUnderstood(f"SET of {'.'.join(parts)}, which is no local variable of the script")

    def visible(self) -> frozenset[str]:
        """The names of all variables in scope."""
        spend_on_tokens(sum(len(names) for _, names in self._scopes))
        return frozenset().union(*(names for _, names in self._scopes))
