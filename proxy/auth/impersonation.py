"""Who may act for whom: Hadoop's rules `hadoop.proxyuser.<user>.hosts`, `.groups`, `.users`."""

import ipaddress
from collections.abc import Callable, Set

from conf.settings.authentication import Identity, ProxyRule

EVERYBODY = "*"
Resolve = Callable[[str], Set[str]]  # a host's addresses; a user's groups


def may_act(
    identity: Identity, real: str, other: str, peer: str, addresses: Resolve, groups: Resolve
) -> bool:
    """Whether `real`, who proved to be that, may act as `other` from the address `peer`.

    As in Hadoop, a rule has to allow the host, and the other by name or by one of its groups.
    """
    rule = identity.rules.get(real)
    if not identity.substitution or rule is None or not other:
        return False
    return _from_there(rule, peer, addresses) and _for_them(rule, other, groups)


def _for_them(rule: ProxyRule, other: str, groups: Resolve) -> bool:
    if EVERYBODY in rule.users or EVERYBODY in rule.groups or other in rule.users:
        return True
    return bool(rule.groups) and not rule.groups.isdisjoint(groups(other))


def _from_there(rule: ProxyRule, peer: str, addresses: Resolve) -> bool:
    if EVERYBODY in rule.hosts:
        return True
    try:
        address = _address(peer)
    except ValueError:
        return False
    return any(_is_there(address, each, addresses) for each in rule.hosts)


def _is_there(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str, addresses: Resolve
) -> bool:
    try:
        return address in ipaddress.ip_network(host, strict=False)
    except ValueError:
        return any(_address(each) == address for each in addresses(host))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if mapped is not None else address
