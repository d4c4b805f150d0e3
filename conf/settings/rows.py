"""A setting is a row: name, type, default, how it changes, and a sentence about it.

A row is written at the field of the frozen dataclass that has its value. Everything else is made
from the rows: `SettingsReader` parses values and collects problems, `reload` compares old and new
settings, `catalog` writes the documentation and the JSON schema.

    sessions_per_user: int = setting("hive.server2.limit..user", COUNT, "1000", LIVE, "..")
    listen: Endpoint = made_of(BIND_HOST, PORT, factory=lambda: Endpoint("127.0.0.1", 10000))
    ldap: Ldap | None = optional_group(Ldap)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from conf.errors import Problem
from conf.kinds import BadValue, SettingKind
from conf.secrets import ExposedSecret, SecretFile

T = TypeVar("T")
_ROWS, _GROUP = "rows", "group"


class ChangeMode(Enum):
    """How a new value of a setting takes effect."""

    LIVE = "SIGHUP"
    RESTART = "restart"


LIVE, RESTART = ChangeMode.LIVE, ChangeMode.RESTART


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """The row of a setting. `default` is the text that a file would have, empty for no default;
    `shown` replaces it in the documentation. `needed`: the setting must not be missing if its
    subject is in use, and the text is the reason."""

    name: str
    kind: SettingKind[T]
    default: str
    change: ChangeMode
    sentence: str
    shown: str = ""
    needed: str = ""

    @property
    def default_value(self) -> T:
        return self.kind.parse(self.default) if self.default else cast(T, self.kind.empty)

    @property
    def shown_default(self) -> str:
        return self.shown or (f"`{self.default}`" if self.default else "none")

    @property
    def remedy(self) -> str:
        """What to write for the setting, as plain text: the type, the default and the sentence."""
        default = f" (default: {self.default})" if self.default else ""
        text = f"{self.kind.name}{default}. {self.sentence}"
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def setting(
    name: str,
    kind: SettingKind[T],
    default: str,
    change: ChangeMode,
    sentence: str,
    *,
    shown: str = "",
    needed: str = "",
    secret: bool = False,
) -> T:
    """A dataclass field with the value of one setting. A `secret` value is not in the repr."""
    row = Setting(name, kind, default, change, sentence, shown, needed)
    return field(default=row.default_value, repr=not secret, metadata={_ROWS: (row,)})


def made_of(*rows: Setting[Any], factory: Callable[[], T]) -> T:
    """A dataclass field whose value is made from these settings by the dataclass's own `read`.
    `factory` makes the default."""
    return field(default_factory=factory, metadata={_ROWS: rows})


def group(cls: type[T]) -> T:
    """A dataclass field whose value is another dataclass of settings."""
    return field(default_factory=cls, metadata={_GROUP: cls})


def optional_group(cls: type[T], *rows: Setting[Any]) -> T | None:
    """As `group`, but None unless the settings in `rows` ask for it."""
    return field(default=None, metadata={_ROWS: rows, _GROUP: cls})


def rows_of(each: "Field[Any]") -> tuple[Setting[Any], ...]:
    """The settings of a field, without those of the dataclass in it."""
    return cast(tuple[Setting[Any], ...], each.metadata.get(_ROWS, ()))


def group_of(each: "Field[Any]") -> type[Any] | None:
    """The dataclass of settings that the field has as its value; None if it has none."""
    return each.metadata.get(_GROUP)


def all_rows(cls: type[Any], *, nested: bool = True) -> Iterator[Setting[Any]]:
    """The settings of a dataclass and, if `nested`, of the dataclasses in it."""
    for each in fields(cls):
        yield from rows_of(each)
        if nested and (cls_of_field := group_of(each)):
            yield from all_rows(cls_of_field)


@dataclass(frozen=True, slots=True)
class SettingsReader:
    """Reads settings from texts by name, and collects their `problems`. A wrong setting gets its
    default, or its value without the wrong parts.

    `shared`: other users may read files with secrets.
    """

    values: Mapping[str, str]
    shared: bool = False
    problems: list[Problem] = field(default_factory=list)

    def is_set(self, row: Setting[Any]) -> bool:
        return bool(self.values.get(row.name, "").strip())

    def is_wrong(self, row: Setting[Any]) -> bool:
        return any(each.name == row.name for each in self.problems)

    def read(self, row: Setting[T], parse: Callable[[str], T] | None = None) -> T:
        """The value, or the default. `parse` replaces the row's own parser.

        A secret file that other users can read is a problem. One that does not exist is reported
        when it is used.
        """
        text = self.values.get(row.name, "").strip()
        if not text:
            if row.needed:
                self.report(row, f"missing; {row.needed}")
            return row.default_value
        try:
            value = (parse or row.kind.parse)(text)
        except BadValue as error:
            self._add(row, error.reasons)
            return row.default_value if error.partial is None else cast(T, error.partial)
        except ValueError as error:
            self._add(row, (str(error),))
            return row.default_value
        return cast(T, self._checked(row, value)) if isinstance(value, SecretFile) else value

    def group(self, cls: type[T], **given: Any) -> T:
        """A dataclass of settings. Fields of one setting are read, the others must be `given`."""
        read = {
            each.name: self.read(rows_of(each)[0])
            for each in fields(cls)  # type: ignore[arg-type]
            if each.name not in given and len(rows_of(each)) == 1 and not group_of(each)
        }
        return cls(**read, **given)

    def report(self, row: Setting[Any], reason: str) -> None:
        """Adds a problem, unless the setting is wrong already: its value is only a default then."""
        if not self.is_wrong(row):
            self._add(row, (reason,))

    def _add(self, row: Setting[Any], reasons: Iterable[str]) -> None:
        known = {(each.name, each.reason) for each in self.problems}
        new = (each for each in reasons if (row.name, each) not in known)
        self.problems.extend(Problem(row.name, each, row.remedy) for each in new)

    def _checked(self, row: Setting[Any], file: SecretFile) -> SecretFile:
        file = replace(file, shared=self.shared)
        try:
            file.check()
        except ExposedSecret as error:
            self._add(row, (f"{file}: {error.strerror}",))
        except OSError:
            pass
        return file
