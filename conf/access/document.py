"""Reads access rules from a TOML or JSON file."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conf.access.masks import COLUMN, MASKS
from conf.access.people import People
from conf.access.quotas import QuotaRule, UserQuota
from conf.access.ranger import Policies, policies_of
from conf.access.rules import EVERY_RIGHT, AccessRules, Effect, Objects, Right, Rule
from conf.access.user_names import exact
from conf.kinds import BadValue, Faults, size

_PEOPLE = ("users", "groups", "roles")
_OBJECTS = ("databases", "tables", "paths", "functions", "settings", "clusters", "code")
_KEYS = ("name", "effect", *_PEOPLE, *_OBJECTS, "rights", "columns", "mask", "expression",
         "unless", "because")  # fmt: skip
_TOP = ("groups", "roles", "rules", "quotas", "ranger")
_BOUNDS = ("statements", "statements_a_minute", "rows", "bytes", "seconds")
_WAITS = {"waiting": "statements", "waiting_seconds": "waiting"}  # each with the key that it needs
_QUOTA_KEYS = ("name", *_PEOPLE, *_BOUNDS, *_WAITS, "unless")
_CODE = ("*", "transform", "add", "create-function")


def read_rules(text: str) -> AccessRules:
    """The rules in the file at the path `text`. Raises BadValue with everything that is wrong."""
    document = read_document(text)
    try:
        return rules_of(document)
    except BadValue as error:
        raise BadValue([f"{text}: {each}" for each in error.reasons]) from error


def read_document(text: str) -> object:
    """The content of the file at the path `text`, as JSON values. Under the key `ranger` it has the
    policies themselves, not the name of their file. Raises BadValue if a file cannot be read."""
    document = _parsed(text)
    if isinstance(document, dict) and isinstance(document.get("ranger"), str):
        document["ranger"] = _parsed(document["ranger"])
    return document


def _parsed(text: str) -> object:
    path = Path(text)
    try:
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(source)
        if path.suffix == ".json":
            return json.loads(source)
    except OSError as error:
        raise BadValue([f"{path}: {error.strerror}"]) from error
    except ValueError as error:
        raise BadValue([f"{path}: {error}"]) from error
    raise BadValue([f"{path}: neither .toml nor .json"])


def rules_of(document: object) -> AccessRules:
    """The rules of a parsed document. Raises BadValue with everything that is wrong in it."""
    faults = Faults()
    with faults.collected():
        table = _table(document, "the document", _TOP)
    faults.check()
    groups: dict[str, frozenset[str]] = {}
    roles: dict[str, People] = {}
    rules: list[Rule] = []
    with faults.collected("groups: "):
        for name, users in _table(table.get("groups", {}), "groups").items():
            groups[name] = _users(_texts(users, name))
    with faults.collected("roles: "):
        for name, people in _table(table.get("roles", {}), "roles").items():
            roles[name] = _people(_table(people, name, ("users", "groups")))
    quotas: list[QuotaRule] = []
    for number, each in enumerate(_list(table, "rules", faults), 1):
        with faults.collected(f"rule {number}: "):
            rules.append(_rule(_table(each, "it", _KEYS)))
    for number, each in enumerate(_list(table, "quotas", faults), 1):
        with faults.collected(f"quota {number}: "):
            quotas.append(_quota(_table(each, "it", _QUOTA_KEYS)))
    names = Counter(rule.name for rule in rules)
    faults.reasons += [
        f"rule {name!r}: the name is used twice" for name, count in names.items() if count > 1
    ]
    both: tuple[Rule | QuotaRule, ...] = (*rules, *quotas)
    for rule in both:
        unknown = (rule.who.roles | rule.unless.roles) - set(roles)
        faults.reasons += [
            f"rule {rule.name!r}: there is no role {each!r}" for each in sorted(unknown)
        ]
    faults.check()
    policies = Policies((), ())
    if "ranger" in table:
        policies = policies_of(table["ranger"], set(groups), set(roles))
    return AccessRules((*rules, *policies.rules), groups, roles, tuple(quotas), policies.ignored)


def _list(table: Mapping[str, Any], key: str, faults: Faults) -> list[object]:
    entries = table.get(key, [])
    if not isinstance(entries, list):
        faults.reasons.append(f"{key}: not a list")
        return []
    return entries


def _quota(table: Mapping[str, Any]) -> QuotaRule:
    name = _name(table)
    who, unless = _concerned(table)
    bounds = {}
    for key in (*_BOUNDS, *_WAITS):
        value = table.get(key, 0)
        if key == "bytes" and isinstance(value, str):
            value = size(value)
        if type(value) is not int or value < 0 or (key in table and value == 0):
            raise ValueError(f"{key} is not a number above 0")
        bounds[key] = value
    if not any(bounds[key] for key in _BOUNDS):
        raise ValueError(f"it names none of {', '.join(_BOUNDS)}")
    for key, other in _WAITS.items():
        if bounds[key] and not bounds[other]:
            raise ValueError(f"{key} needs {other}")
    return QuotaRule(name, who, UserQuota(**bounds), unless)


def _rule(table: Mapping[str, Any]) -> Rule:
    name = _name(table)
    faults = Faults()
    with faults.collected(f"{name!r}: "):
        return _named_rule(name, table)
    raise BadValue(faults.reasons)


def _named_rule(name: str, table: Mapping[str, Any]) -> Rule:
    effects = [each.value for each in Effect]
    if table.get("effect") not in effects:
        raise ValueError(f"effect is not one of {', '.join(effects)}")
    effect = Effect(table["effect"])
    who, unless = _concerned(table)
    objects = _objects(table)
    because = table.get("because", "")
    if not isinstance(because, str):
        raise ValueError("because is not a text")
    columns = tuple(each.lower() for each in _texts(table.get("columns", []), "columns"))
    rights = _rights(table, effect, columns)
    of_tables = bool(objects.databases or objects.tables)
    if "rights" in table and not of_tables:
        raise ValueError("rights are for databases and tables")
    if columns and (effect.gives or not objects.tables):
        raise ValueError("columns of tables can be denied or masked, and not allowed")
    if effect in (Effect.MASK, Effect.FILTER) and not of_tables:
        raise ValueError("only tables are masked and filtered")
    expression = _expression(table, effect, columns)
    if objects.paths and not effect.gives:
        raise ValueError("paths can be allowed only: who is denied anything may use no others")
    return Rule(name, effect, who, objects, rights, columns, unless, because, expression)


def _expression(table: Mapping[str, Any], effect: Effect, columns: Sequence[str]) -> str:
    """The expression of a mask or filter; empty for other rules. Only Spark can check its SQL."""
    given = [key for key in ("mask", "expression") if key in table]
    if effect not in (Effect.MASK, Effect.FILTER):
        if given:
            raise ValueError(f"{given[0]} is for masks and filters")
        return ""
    expression = table.get("expression", "")
    if effect is Effect.FILTER:
        if columns:
            raise ValueError("a filter has no columns")
        if given != ["expression"] or not isinstance(expression, str) or not expression.strip():
            raise ValueError("a filter has an expression, the condition on rows, and no mask")
        if COLUMN in expression:
            raise ValueError(f"{COLUMN} is for masks")
        return expression
    if not columns:
        raise ValueError("a mask names columns")
    if len(given) != 1:
        raise ValueError("a mask has either mask or expression")
    if given == ["mask"]:
        if table["mask"] not in MASKS:
            raise ValueError(f"mask is not one of {', '.join(MASKS)}")
        return MASKS[table["mask"]]
    if not isinstance(expression, str) or not expression.strip():
        raise ValueError("expression is not a text")
    return expression


def _rights(table: Mapping[str, Any], effect: Effect, columns: Sequence[str]) -> frozenset[Right]:
    reading = bool(columns) or effect in (Effect.MASK, Effect.FILTER)
    if "rights" not in table:
        return frozenset((Right.SELECT,)) if reading else EVERY_RIGHT
    texts = _texts(table["rights"], "rights")
    known = {right.value: right for right in Right}
    if unknown := [each for each in texts if each not in known]:
        raise ValueError(f"the right {unknown[0]!r} is not one of {', '.join(known)}")
    rights = frozenset(known[each] for each in texts)
    if not rights:
        raise ValueError("rights is empty")
    if reading and rights != {Right.SELECT}:
        raise ValueError("columns, masks and filters concern the right select alone")
    return rights


def _objects(table: Mapping[str, Any]) -> Objects:
    patterns = {key: _texts(table.get(key, []), key) for key in _OBJECTS}
    if not any(patterns.values()):
        raise ValueError(f"it names none of {', '.join(_OBJECTS)}")
    for each in patterns["tables"]:
        if each.count(".") != 1 or each.startswith(".") or each.endswith("."):
            raise ValueError(f"{each!r} is not database.table")
    for each in patterns["databases"]:
        if "." in each:
            raise ValueError(f"{each!r} is not a database")
    for each in patterns["code"]:
        if each not in _CODE:
            raise ValueError(f"the code {each!r} is not one of {', '.join(_CODE)}")
    for each in patterns["paths"]:
        if "*" in each.removesuffix("*") or (each != "*" and each.endswith("*")):
            raise ValueError(f"{each!r}: a path is a folder without *, or * alone")
    lower = {key: tuple(map(str.lower, patterns[key])) for key in _OBJECTS if key != "paths"}
    lower["clusters"] = patterns["clusters"]
    return Objects(paths=tuple(each.rstrip("/") or "/" for each in patterns["paths"]), **lower)


def _name(table: Mapping[str, Any]) -> str:
    """The name of a rule or quota."""
    name = table.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("it has no name")
    return name


def _concerned(table: Mapping[str, Any]) -> tuple[People, People]:
    """The people whom a rule or quota concerns, and the people who are excepted from it."""
    who, unless = _people(table), _people(_table(table.get("unless", {}), "unless", _PEOPLE))
    if who.is_nobody:
        raise ValueError('it names no users, groups or roles; users = ["*"] is anyone')
    return who, unless


def _people(table: Mapping[str, Any]) -> People:
    users, groups, roles = (_texts(table.get(key, []), key) for key in _PEOPLE)
    return People(_users(users), frozenset(groups), frozenset(roles))


def _users(names: Sequence[str]) -> frozenset[str]:
    return frozenset(map(exact, names))


def _table(value: object, what: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a table")
    if keys is not None and (unknown := [each for each in value if each not in keys]):
        raise ValueError(f"{what} has {unknown[0]!r}, which is not one of {', '.join(keys)}")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError(f"{what} is not a list of texts")
    return tuple(value)
