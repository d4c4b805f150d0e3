"""HiveServer2's questions to an LDAP directory, put so that no name can change their meaning."""

from collections.abc import Iterable, Mapping

from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn, parse_dn

from conf.settings.authentication import Ldap
from proxy.auth.errors import Wrong
from proxy.auth.user_names import person, said_name, short_name

Names = Mapping[str, list[str]]
_PERSONS = "(|(objectClass=person)(objectClass=user)(objectClass=inetOrgPerson))"


def user_name(settings: Ldap, said: str) -> str:
    """The name without its domain, which has to be ours where there is one. Raises Wrong."""
    user = said_name(said)
    name = short_name(user)
    _, at, domain = user.partition("@")
    if "/" in user or "\\" in user or "=" in user or "," in user:
        raise Wrong("not a plain name")
    if at and settings.domain and domain.lower() != settings.domain.lower():
        raise Wrong("of another domain")
    if at and not settings.domain:
        raise Wrong("a domain, and none is configured")
    return name


def principals(settings: Ldap, name: str) -> tuple[str, ...]:
    """As whom the directory may know the user, to be tried in turn. Raises Wrong."""
    if settings.domain:
        return (f"{name}@{settings.domain}",)
    if not settings.user_patterns:
        raise Wrong("neither a domain nor a pattern of DNs is configured")
    return tuple(pattern.replace("%s", escape_rdn(name)) for pattern in settings.user_patterns)


def is_dn(principal: str) -> bool:
    return "=" in principal


def bases(patterns: Iterable[str]) -> tuple[str, ...]:
    """Where a pattern's entries are: below what follows its first part."""
    return tuple(dict.fromkeys(each.partition("%s,")[2] for each in patterns))


def find_user(settings: Ldap, name: str) -> str:
    """The filter that finds a user's entry."""
    value = escape_filter_chars(name)
    ids = name_attributes(settings)
    return f"(&{_PERSONS}(|{''.join(f'({each}={value})' for each in ids)}))"


def name_attributes(settings: Ldap) -> tuple[str, ...]:
    """The attributes that have a user's name, the configured one first."""
    return tuple(dict.fromkeys((settings.guid, "uid", "sAMAccountName")))


def own_name(settings: Ldap, dn: str, names: Names, typed: str) -> str:
    """The directory's own name of a user: what the first attribute has that names users.

    Of several values the one in the entry's DN, else the one that was typed in some spelling, else
    the first in order. Where the directory does not show the entry, what was typed in small
    letters. Raises Wrong for a name that nobody may have.
    """
    values = next((each for key in name_attributes(settings) if (each := names.get(key))), None)
    if values is None:
        return said_name(typed.lower())
    alike = [each for each in values if person(each) == person(short(dn))]
    alike += [each for each in values if person(each) == person(typed)]
    return short_name(said_name((alike or sorted(values))[0]))


def find_groups(settings: Ldap, dn: str, name: str) -> str:
    """The filter that finds the groups that name a user as a member."""
    key = settings.group_membership
    members = "".join(f"({key}={escape_filter_chars(each)})" for each in (dn, name))
    return f"(&(objectClass={settings.group_class})(|{members}))"


def find_group(settings: Ldap, group: str) -> str:
    """The filter that finds a group by its name, whatever it is named by."""
    value = escape_filter_chars(group)
    ids = dict.fromkeys((settings.guid, "cn"))
    names = "".join(f"({each}={value})" for each in ids)
    return f"(&(objectClass={settings.group_class})(|{names}))"


def is_member(values: Iterable[str], groups: Iterable[str]) -> bool:
    """Whether an attribute of a user's entry names one of these DNs of groups."""
    named = {normal(value) for value in values}
    return any(normal(group) in named for group in groups)


def short(dn: str) -> str:
    """What an entry is called: the value of its DN's first part, in small letters."""
    try:
        return str(parse_dn(dn)[0][1]).lower()
    except Exception:  # the library raises whatever it meets in what is no DN
        return dn.lower()


def normal(dn: str) -> str:
    """A DN as any other way of writing it."""
    try:
        parts = parse_dn(dn, strip=True)
    except Exception:
        return dn.lower()
    return ",".join(f"{key}={value}{end}".lower() for key, value, end in parts)
