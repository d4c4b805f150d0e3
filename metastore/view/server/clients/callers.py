"""The caller that a client of the view has proved to be, and what that caller may do."""

from dataclasses import dataclass, field

from conf.auth_to_local import AuthToLocal, NoLocalName
from conf.settings.security.view_access import EVERY_CLUSTER, ViewAccess
from metastore.view.errors import CallerRefused

_OWN = frozenset(("causeway_lock", "causeway_unlock", "causeway_forget", "causeway_settle"))
"""Calls for Causeway's own programs only: they can make writers of every cluster wait."""
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
class ViewCaller:
    """An authenticated client. `user` is the name of the principal by auth_to_local or, if the
    client logged in `by_token`, the owner of the token that the principal got. `clusters` are those
    for which it may speak."""

    principal: str
    user: str
    clusters: frozenset[str] = field(default_factory=frozenset)
    by_token: bool = False

    def check(self, cluster: str) -> None:
        """Raises CallerRefused if the caller may not speak for the cluster."""
        if EVERY_CLUSTER not in self.clusters and cluster not in self.clusters:
            raise CallerRefused(f"{self.principal} may not speak for cluster {cluster}.")

    def check_call(self, method: str) -> None:
        """Raises CallerRefused for a call that the caller may not make."""
        reason = _FORBIDDEN.get(method)
        if reason is not None:
            raise CallerRefused(f"{method}: {reason}")
        if method in _OWN and EVERY_CLUSTER not in self.clusters:
            raise CallerRefused(f"{self.principal} may not call {method}.")


def caller_of(principal: str, access: ViewAccess, rules: AuthToLocal) -> ViewCaller:
    """The caller with this principal. Raises CallerRefused if it may speak for no cluster, or has
    no user name."""
    clusters = access.clusters_of(principal)
    if not clusters:
        raise CallerRefused(f"{principal} may not speak for any cluster.")
    realm = access.kerberos.realm if access.kerberos is not None else ""
    try:
        return ViewCaller(principal, rules.name(principal, realm), clusters)
    except NoLocalName as error:
        raise CallerRefused(f"{error}.") from None
