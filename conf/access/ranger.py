"""Turns the policies of a Hive service in Apache Ranger into access rules.

The document is the reply to `GET /service/plugins/policies/download/<service>`. Ranger applies the
items that deny first, and denies everything that no item allows. The rules do the same. An item
that is not understood never gives a right: if it allows it is left out, if it denies it concerns
all users. docs/internals/access.md has the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from conf.access.masks import COLUMN
from conf.access.masks import RANGER as RANGER_MASKS
from conf.access.people import ANYONE, People
from conf.access.rules import EVERY_RIGHT, Effect, Objects, Right, Rule
from conf.access.user_names import exact
from conf.kinds import BadValue

_EVERYONE = People(frozenset((ANYONE,)))
_EVERYTHING = Objects(databases=("*",))
_READING = frozenset((Right.SELECT,))
_RIGHTS: Mapping[str, Set[Right]] = {
    "select": _READING,
    "update": {Right.INSERT, Right.UPDATE, Right.DELETE},
    "create": {Right.CREATE},
    "drop": {Right.DROP},
    "alter": {Right.ALTER},
    "all": EVERY_RIGHT,
    # Kinds of access for which Causeway has no statements.
    **dict.fromkeys(("index", "lock", "read", "write", "refresh"), frozenset[Right]()),
    **dict.fromkeys(("repladmin", "serviceadmin", "tempudfadmin"), frozenset[Right]()),
}
_OF_PATHS = ({"url"}, {"global"}, {"hiveservice"}, {"storage-type", "storage-url"})
_EFFECTS = {1: (Effect.MASK, "dataMaskPolicyItems"), 2: (Effect.FILTER, "rowFilterPolicyItems")}
_NOT_UNDERSTOOD = (
    *("validitySchedules", "conditions", "additionalResources", "zoneName", "policyPriority"),
    "isDenyAllElse",
)


@dataclass(frozen=True, slots=True)
class Policies:
    """`ignored` are sentences about the parts of the document that were not understood."""

    rules: tuple[Rule, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Resource:
    """The objects of a policy. `whole`: a right on them is one on whole tables. `doubt` is a
    sentence about a part that was not understood."""

    objects: Objects
    columns: tuple[str, ...] = ()
    whole: bool = False
    doubt: str = ""


def policies_of(document: object, groups: Set[str], roles: Set[str]) -> Policies:
    """The rules, in the order in which they apply. `groups` and `roles` are those whose members are
    known.

    Raises BadValue for a document of another form, or with parts that change the meaning of the
    rest.
    """
    if not isinstance(document, dict) or not isinstance(document.get("policies"), list):
        raise BadValue(["ranger: it has no list of policies"])
    for key in ("tagPolicies", "securityZones", "policyDeltas"):
        part = document.get(key)
        if part and (key != "tagPolicies" or not isinstance(part, dict) or part.get("policies")):
            raise BadValue([f"ranger: {key} is not understood"])
    reader = _Reader(groups, roles, [])
    rules: list[Rule] = []
    for at, policy in enumerate(document["policies"], 1):
        if not isinstance(policy, dict):
            raise BadValue([f"ranger: policy {at} is not an object"])
        if str(policy.get("serviceType") or "hive") != "hive":
            raise BadValue([f"ranger: policy {at} is not of a Hive service"])
        if policy.get("isEnabled") is not False:
            rules += reader.rules(policy, f"Ranger: {policy.get('name') or at} ({at})")
    rules.sort(key=lambda rule: rule.effect.gives)  # denials first; the sort is stable
    because = "No policy of Ranger allows it."
    last = Rule("Ranger", Effect.DENY, _EVERYONE, _EVERYTHING, because=because)
    return Policies((*rules, last), tuple(reader.ignored))


@dataclass(frozen=True, slots=True)
class _Reader:
    groups: Set[str]
    roles: Set[str]
    ignored: list[str]

    def rules(self, policy: Mapping[str, Any], name: str) -> Iterator[Rule]:
        resource = _resource(policy.get("resources"))
        doubts = [f"{key} is not understood" for key in _NOT_UNDERSTOOD if policy.get(key)]
        doubts += [resource.doubt] if resource.doubt else []
        self.ignored.extend(f"{name}: {each}" for each in doubts)
        kind = policy.get("policyType") or 0
        if kind in _EFFECTS:
            yield from self._parts(policy, name, resource, bool(doubts))
            return
        if kind != 0 or policy.get("isDenyAllElse"):
            self.ignored.append(f"{name}: it is read as a denial to everyone")
            yield Rule(name, Effect.DENY, _EVERYONE, resource.objects)
            return
        yield from self._denials(policy, name, resource, bool(doubts))
        if not doubts:
            yield from self._permissions(policy, name, resource)

    def _parts(
        self, policy: Mapping[str, Any], name: str, resource: _Resource, doubtful: bool
    ) -> Iterator[Rule]:
        """The masks and filters of a policy. Ranger applies the first item that concerns a user, so
        users to whom an item shows everything are exceptions of the later items."""
        effect, key = _EFFECTS[policy["policyType"]]
        columns = resource.columns if effect is Effect.MASK else ()
        free = People()
        for number, item in enumerate(_items(policy, key), 1):
            title, people = f"{name}, {effect.value} {number}", _people(item)
            expression = _mask(item) if effect is Effect.MASK else _condition(item)
            unclear = doubtful or bool(item.get("conditions")) or self._is_unclear(people)
            if expression == "":
                free = free if unclear else _union((free, people))
                continue
            if unclear or expression is None or (effect is Effect.MASK and not columns):
                self.ignored.append(f"{title}: it is not understood, so it denies")
                expression = ""
            who = self._denied(item, name, unclear)
            yield Rule(
                title, effect, who, resource.objects, _READING, columns, free, "", expression
            )  # fmt: skip

    def _denials(
        self, policy: Mapping[str, Any], name: str, resource: _Resource, doubtful: bool
    ) -> Iterator[Rule]:
        """The denials of a policy. An exception counts only if it is for all rights of the item."""
        for number, item in enumerate(_items(policy, "denyPolicyItems"), 1):
            rights, unknown = _rights(item)
            unclear = doubtful or bool(unknown) or bool(item.get("conditions"))
            rights = EVERY_RIGHT if unknown else rights
            if resource.objects.functions and Right.SELECT not in rights:
                continue  # who may not create functions may still call them
            who = self._denied(item, name, unclear)
            excepted = [
                each
                for each in _items(policy, "denyExceptions")
                if not unclear and not each.get("conditions") and rights <= _rights(each)[0]
            ]
            columns = resource.columns if rights == _READING else ()
            if rights:
                yield Rule(
                    f"{name}, deny {number}", Effect.DENY, who, resource.objects, rights, columns,
                    _joined(excepted),
                )  # fmt: skip

    def _permissions(
        self, policy: Mapping[str, Any], name: str, resource: _Resource
    ) -> Iterator[Rule]:
        exceptions = _joined(_items(policy, "allowExceptions"))
        unknown_people = self._unknown(exceptions)
        for number, item in enumerate(_items(policy, "policyItems"), 1):
            rights, unknown = _rights(item)
            title = f"{name}, allow {number}"
            if not resource.whole:
                self.ignored.append(f"{title}: only rights on all columns of tables are read")
            elif item.get("conditions") or unknown_people:
                self.ignored.append(f"{title}: its conditions or exceptions are not understood")
            elif rights:
                if unknown:
                    self.ignored.append(f"{title}: {', '.join(unknown)} is not understood")
                yield Rule(
                    title, Effect.ALLOW, _people(item), resource.objects, rights, unless=exceptions
                )

    def _denied(self, item: Mapping[str, Any], name: str, unclear: bool) -> People:
        """The people whom an item denies; everyone if they are not known for certain."""
        people = _people(item)
        if unclear or self._is_unclear(people):
            self.ignored.append(f"{name}: it is not known who is meant, so a denial is to everyone")
            return _EVERYONE
        return people

    def _is_unclear(self, people: People) -> bool:
        return self._unknown(people) or any("{" in each for each in people.users)

    def _unknown(self, people: People) -> bool:
        return not (people.groups <= self.groups and people.roles <= self.roles)


def _resource(resources: object) -> _Resource:
    if not isinstance(resources, dict) or not resources:
        return _Resource(_EVERYTHING, doubt="it has no resources")
    values: dict[str, tuple[str, ...]] = {}
    for key, each in resources.items():
        names = _texts(each.get("values")) if isinstance(each, dict) else ()
        if not names or each.get("isExcludes"):
            return _Resource(_EVERYTHING, doubt=f"its resource {key} is not understood")
        if key != "url" and any(set(name) & set("?{}[]$.") for name in names):
            return _Resource(_EVERYTHING, doubt=f"a pattern of its resource {key}")
        values[key] = tuple(name.lower() for name in names)
    kinds = set(values)
    if kinds in _OF_PATHS:
        return _Resource(Objects())  # rules deny all paths; a right on one is not read
    if kinds == {"database", "udf"}:
        return _Resource(Objects(functions=values["udf"]))
    databases, columns = values.get("database", ()), values.get("column", ("*",))
    if kinds == {"database"}:
        return _Resource(Objects(databases=databases))
    if not kinds <= {"database", "table", "column"} or not {"database", "table"} <= kinds:
        doubt = f"resources of the kinds {', '.join(sorted(kinds))} are not understood"
        return _Resource(_EVERYTHING, doubt=doubt)
    named = () if "*" in columns else columns
    tables = tuple(f"{db}.{table}" for db in databases for table in values["table"])
    return _Resource(Objects(tables=tables), named, "column" in kinds and not named)


def _rights(item: Mapping[str, Any]) -> tuple[frozenset[Right], list[str]]:
    """The rights that the item names, and the kinds of access that are not known."""
    kinds = [str(each.get("type", "")).lower() for each in _items(item, "accesses")]
    known = [_RIGHTS[kind] for kind in kinds if kind in _RIGHTS]
    return frozenset().union(*known), [kind for kind in kinds if kind not in _RIGHTS]


def _people(item: Mapping[str, Any]) -> People:
    users, groups, roles = (
        frozenset(_texts(item.get(key))) for key in ("users", "groups", "roles")
    )
    if "public" in groups or "{USER}" in users:
        return _EVERYONE
    return People(frozenset(map(exact, users)), groups, roles)


def _joined(items: Iterable[Mapping[str, Any]]) -> People:
    return _union([_people(each) for each in items])


def _union(several: Sequence[People]) -> People:
    return People(
        frozenset[str]().union(*(each.users for each in several)),
        frozenset[str]().union(*(each.groups for each in several)),
        frozenset[str]().union(*(each.roles for each in several)),
    )


def _mask(item: Mapping[str, Any]) -> str | None:
    """The expression of an item's mask. Empty: the column is not masked; None: not understood."""
    info = item.get("dataMaskInfo")
    if not isinstance(info, dict):
        return None
    kind, custom = info.get("dataMaskType"), info.get("valueExpr")
    if kind == "MASK_NONE":
        return ""
    return _understood(custom) if kind == "CUSTOM" else RANGER_MASKS.get(str(kind))


def _condition(item: Mapping[str, Any]) -> str | None:
    """An item's condition on rows. Empty: all rows; None: not understood."""
    info = item.get("rowFilterInfo")
    if not isinstance(info, dict):
        return None
    expression = info.get("filterExpr") or ""
    return "" if expression == "" else _understood(expression)


def _understood(expression: object) -> str | None:
    """The expression; None if it has variables that Ranger would replace."""
    if not isinstance(expression, str) or not expression.strip() or "${" in expression:
        return None
    return None if "{" in expression.replace(COLUMN, "") else expression


def _items(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = table.get(key)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else []
    return tuple(each for each in values if isinstance(each, str))
