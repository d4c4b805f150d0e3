"""Decides by Hadoop's rules who may impersonate whom (`hadoop.proxyuser.<user>.hosts`, `.groups`,
`.users`)."""

import ipaddress
from collections.abc import Callable, Set

from conf.settings.security.authentication import Identity, ProxyRule

ANY = "*"
Resolve = Callable[[str], Set[str]]  # returns the addresses of a host, or the groups of a user


def may_impersonate(
    identity: Identity, real: str, other: str, peer: str, addresses: Resolve, groups: Resolve
) -> bool:
    """Whether the authenticated user `real` may act as `other` from the address `peer`.

    As in Hadoop, the rule of `real` has to allow the host, and `other` by name or by group.
    """
    rule = identity.rules.get(real)
    if not identity.substitution or rule is None or not other:
        return False
    return _allows_address(rule, peer, addresses) and _allows_user(rule, other, groups)


def _allows_user(rule: ProxyRule, other: str, groups: Resolve) -> bool:
    if ANY in rule.users or ANY in rule.groups or other in rule.users:
        return True
    return bool(rule.groups) and not rule.groups.isdisjoint(groups(other))


def _allows_address(rule: ProxyRule, peer: str, addresses: Resolve) -> bool:
    if ANY in rule.hosts:
        return True
    try:
        address = _address(peer)
    except ValueError:
        return False
    return any(_is_of_host(address, each, addresses) for each in rule.hosts)


def _is_of_host(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str, addresses: Resolve
) -> bool:
    """Whether the address belongs to `host`, which is a name, an address or a network."""
    try:
        return address in ipaddress.ip_network(host, strict=False)
    except ValueError:
        return any(_address(each) == address for each in addresses(host))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if mapped is not None else address
