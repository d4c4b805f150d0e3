"""Hadoop's `auth_to_local`: rules that turn a Kerberos principal into a user name.

    RULE:[2:$1](spark-.*)s/^spark-//g
    RULE:[1:$1@$0](.*@OTHER\\.ORG)s/@.*//L
    DEFAULT

`[2:..]` is a rule for principals with two components. It puts the realm ($0) and the components
($1, $2) into its format. If its expression matches the whole text, its substitution turns the text
into the name. The first rule that applies counts. DEFAULT applies to the service's own realm, and
takes the first component.
"""

import re
from dataclasses import dataclass

_PRINCIPAL = re.compile(r"([^/@\\]+)(?:/([^/@\\]+))?@([^/@\\]+)")
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:\[(?P<count>\d+):(?P<format>[^\]]*)\]"
    r"(?:\((?P<match>[^)]*)\))?(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?)/?(?P<lower>L)?"
    r"(?=\s|$)"
)
_LONGEST = 1024  # characters of a principal


class NoLocalName(ValueError):
    """No rule turns the principal into a user name."""


@dataclass(frozen=True, slots=True)
class PrincipalRule:
    """A rule for principals with `count` components; 0: the rule DEFAULT. The substitution replaces
    `old` by `new`, in Python's syntax, once or `everywhere`."""

    count: int = 0
    format: str = ""
    match: re.Pattern[str] | None = None
    old: re.Pattern[str] | None = None
    new: str = ""
    everywhere: bool = False
    lower: bool = False

    def name(self, parts: list[str], realm: str) -> str | None:
        """The name, or None if the rule does not apply. `parts` begin with the realm."""
        if not self.count:
            return self._cased(parts[1]) if parts[0] == realm else None
        if len(parts) - 1 != self.count:
            return None
        text = re.sub(r"\$(\d)", lambda found: parts[int(found[1])], self.format)
        if self.match is not None and not self.match.fullmatch(text):
            return None
        if self.old is not None:
            text = self.old.sub(self.new, text, 0 if self.everywhere else 1)
        return self._cased(text)

    def _cased(self, name: str) -> str:
        return name.lower() if self.lower else name


@dataclass(frozen=True, slots=True)
class AuthToLocal:
    """The rules, in their order."""

    rules: tuple[PrincipalRule, ...] = (PrincipalRule(),)

    def name(self, principal: str, realm: str) -> str:
        """The user name of a principal. `realm` is the service's own. Raises NoLocalName."""
        found = _PRINCIPAL.fullmatch(principal)
        if found is None or len(principal) > _LONGEST:
            raise NoLocalName(f"{principal[:_LONGEST]!r} is not name@REALM or name/host@REALM")
        parts = [found[3], *(each for each in found.groups()[:2] if each)]
        names = (rule.name(parts, realm) for rule in self.rules)
        name = next((each for each in names if each is not None), None)
        if name is None:
            raise NoLocalName(f"{principal!r}: no rule of auth_to_local applies")
        if not name or "/" in name or "@" in name:
            raise NoLocalName(f"{principal!r}: auth_to_local makes {name!r}, which is no name")
        return name


def parse_rules(text: str) -> AuthToLocal:
    """Parses rules that are separated by white space. Raises ValueError."""
    rules: list[PrincipalRule] = []
    at = 0
    while text[at:].strip():
        found = _RULE.match(text, at)
        if found is None:
            raise ValueError(f"not a rule of auth_to_local: {text[at:].strip()!r:.80}")
        rules.append(_rule(found))
        at = found.end()
    return AuthToLocal(tuple(rules))


def _rule(rule: "re.Match[str]") -> PrincipalRule:
    lower = rule["lower"] is not None
    if rule["default"]:
        return PrincipalRule(lower=lower)
    count = int(rule["count"])
    if count not in (1, 2):
        raise ValueError(f"principals have one or two components, not {count}: {rule[0].strip()}")
    if any(int(each) > count for each in re.findall(r"\$(\d)", rule["format"])):
        raise ValueError(f"a component above {count}: {rule[0].strip()}")
    try:
        match = None if rule["match"] is None else re.compile(rule["match"])
        old = None if rule["old"] is None else re.compile(rule["old"])
    except re.error as error:
        raise ValueError(f"not an expression: {rule[0].strip()} ({error})") from None
    new = _replacement(rule["new"] or "")
    if old is not None:
        _check_groups(old, new)
    return PrincipalRule(count, rule["format"], match, old, new, rule["all"] is not None, lower)


def _replacement(text: str) -> str:
    """Python's replacement text for Java's, which has `$1` for a group and `\\x` for the character
    x."""

    def one(found: "re.Match[str]") -> str:
        if found[1]:
            return rf"\g<{found[1]}>"
        return (found[2] or found[0]).replace("\\", r"\\")

    return re.sub(r"\$(\d)|\\(.)|\\", one, text)


def _check_groups(old: "re.Pattern[str]", new: str) -> None:
    highest = max((int(each) for each in re.findall(r"\\g<(\d)>", new)), default=0)
    if highest > old.groups:
        raise ValueError(f"{old.pattern!r} has no group {highest}")
