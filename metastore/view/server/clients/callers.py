"""Who a client of the view is by its ticket or token, and for which clusters it may speak."""

from dataclasses import dataclass, field

from conf.auth_to_local import AuthToLocal, NoLocalName
from conf.settings.security.view_access import EVERY_CLUSTER, ViewAccess
from metastore.view.errors import CallerRefused

_OWN = frozenset(("causeway_lock", "causeway_unlock", "causeway_forget", "causeway_settle"))
"""Calls of Causeway's own programs alone: they keep writers of every cluster waiting."""
_SECRETS = "The metastore's keys and tokens are not for its clients."
_FORBIDDEN = {
    "set_ugi": "The ticket says who calls.",
    **dict.fromkeys(
        (
            *("add_master_key", "get_master_keys", "remove_master_key", "update_master_key"),
            *("add_token", "get_token", "remove_token", "get_all_token_identifiers"),
        ),
        _SECRETS,
    ),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """`user` is the name of the principal by auth_to_local, or the owner of the token that the
    principal got and that the client logged in with (`by_token`)."""

    principal: str
    user: str
    clusters: frozenset[str] = field(default_factory=frozenset)
    by_token: bool = False

    def check(self, cluster: str) -> None:
        """Raises CallerRefused if the caller may not speak for the cluster."""
        if EVERY_CLUSTER not in self.clusters and cluster not in self.clusters:
            raise CallerRefused(f"{self.principal} may not speak for cluster {cluster}.")

    def check_call(self, method: str) -> None:
        """Raises CallerRefused for a call that would give the caller more than its ticket does."""
        reason = _FORBIDDEN.get(method)
        if reason is not None:
            raise CallerRefused(f"{method}: {reason}")
        if method in _OWN and EVERY_CLUSTER not in self.clusters:
            raise CallerRefused(f"{self.principal} may not call {method}.")


def caller_of(principal: str, access: ViewAccess, rules: AuthToLocal) -> Caller:
    """Raises CallerRefused for a principal that may speak for no cluster, or has no user name."""
    clusters = access.clusters_of(principal)
    if not clusters:
        raise CallerRefused(f"{principal} may not speak for any cluster.")
    realm = access.kerberos.realm if access.kerberos is not None else ""
    try:
        return Caller(principal, rules.name(principal, realm), clusters)
    except NoLocalName as error:
        raise CallerRefused(f"{error}.") from None
