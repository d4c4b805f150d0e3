"""HiveServer2's LDAP queries, with names escaped so that they cannot change a query's meaning."""

from collections.abc import Iterable, Mapping

from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn, parse_dn

from conf.settings.security.authentication import Ldap
from proxy.auth.user_names import login_name, short_name, throttle_key
from saslauth.errors import BadCredentials

Attributes = Mapping[str, list[str]]
_PERSONS = "(|(objectClass=person)(objectClass=user)(objectClass=inetOrgPerson))"


def user_name(settings: Ldap, typed: str) -> str:
    """The typed name without its domain, which must be the configured one.

    Raises BadCredentials.
    """
    user = login_name(typed)
    name = short_name(user)
    _, at, domain = user.partition("@")
    if "/" in user or "\\" in user or "=" in user or "," in user:
        raise BadCredentials("not a plain name")
    if at and settings.domain and domain.lower() != settings.domain.lower():
        raise BadCredentials("the name has another domain")
    if at and not settings.domain:
        raise BadCredentials("the name has a domain, and none is configured")
    return name


def principals(settings: Ldap, name: str) -> tuple[str, ...]:
    """The names to bind as, in the order in which they are tried. Raises BadCredentials."""
    if settings.domain:
        return (f"{name}@{settings.domain}",)
    if not settings.user_patterns:
        raise BadCredentials("neither a domain nor a pattern of DNs is configured")
    return tuple(pattern.replace("%s", escape_rdn(name)) for pattern in settings.user_patterns)


def is_dn(principal: str) -> bool:
    return "=" in principal


def bases(patterns: Iterable[str]) -> tuple[str, ...]:
    """The bases of the patterns' entries: what follows the first part of each pattern."""
    return tuple(dict.fromkeys(each.partition("%s,")[2] for each in patterns))


def find_user(settings: Ldap, name: str) -> str:
    """The filter that finds a user's entry."""
    value = escape_filter_chars(name)
    ids = name_attributes(settings)
    return f"(&{_PERSONS}(|{''.join(f'({each}={value})' for each in ids)}))"


def name_attributes(settings: Ldap) -> tuple[str, ...]:
    """The attributes that contain a user's name, the configured one first."""
    return tuple(dict.fromkeys((settings.guid, "uid", "sAMAccountName")))


def name_in_entry(settings: Ldap, dn: str, attributes: Attributes, typed: str) -> str:
    """The directory's name of a user, from the first name attribute that has a value.

    Of several values this is the one in the entry's DN, otherwise the one that equals `typed` but
    for its spelling, otherwise the first in order. If the directory does not show the entry, it is
    the typed name in small letters. Raises BadCredentials for an invalid name.
    """
    values = next(
        (each for key in name_attributes(settings) if (each := attributes.get(key))), None
    )
    if values is None:
        return login_name(typed.lower())
    matches = [each for each in values if throttle_key(each) == throttle_key(short(dn))]
    matches += [each for each in values if throttle_key(each) == throttle_key(typed)]
    return short_name(login_name((matches or sorted(values))[0]))


def find_groups(settings: Ldap, dn: str, name: str) -> str:
    """The filter that finds a user's groups, by the groups' attribute of members."""
    key = settings.group_membership
    members = "".join(f"({key}={escape_filter_chars(each)})" for each in (dn, name))
    return f"(&(objectClass={settings.group_class})(|{members}))"


def find_group(settings: Ldap, group: str) -> str:
    """The filter that finds a group by its name, in any of the name attributes."""
    value = escape_filter_chars(group)
    ids = dict.fromkeys((settings.guid, "cn"))
    names = "".join(f"({each}={value})" for each in ids)
    return f"(&(objectClass={settings.group_class})(|{names}))"


def is_member(values: Iterable[str], groups: Iterable[str]) -> bool:
    """Whether the values of a user's attribute contain one of these groups' DNs."""
    normalized = {normal(value) for value in values}
    return any(normal(group) in normalized for group in groups)


def short(dn: str) -> str:
    """An entry's short name: the value of its DN's first part, in small letters."""
    try:
        return str(parse_dn(dn)[0][1]).lower()
    except Exception:  # the library raises errors of many types for malformed DNs
        return dn.lower()


def normal(dn: str) -> str:
    """The DN in a form that is the same for all spellings of one DN."""
    try:
        parts = parse_dn(dn, strip=True)
    except Exception:
        return dn.lower()
    return ",".join(f"{key}={value}{end}".lower() for key, value, end in parts)
