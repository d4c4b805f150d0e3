"""Copies that are made for queries which no cluster can run (`SET causeway.fetch.missing`)."""

from dataclasses import dataclass

from conf.kinds import DURATION, SIZE
from conf.settings.rows import LIVE, RESTART, setting


# fmt: off
@dataclass(frozen=True, slots=True)
class Fetching:
    """Bounds in bytes. 0 is no bound, except for `limit`, where it means that nothing is copied.
    `keep` is in seconds."""

    limit: int = setting("router.fetch.limit", SIZE, "0", LIVE,
        "How many bytes users may have copied for one query that no cluster can run, with"
        " `SET causeway.fetch.missing`"
        " ([data on demand](../guide/copy.md#data-on-demand)). `0`: none.")
    user_daily: int = setting("router.fetch.user.daily", SIZE, "0", RESTART,
        "How many bytes are copied for the queries of one user on one day (UTC), by one proxy"
        " since its start. `0`: any number.")
    link_daily: int = setting("router.fetch.link.daily", SIZE, "0", RESTART,
        "How many bytes are copied for queries from one cluster to another on one day (UTC), by"
        " one proxy since its start. `0`: any number.")
    bandwidth: int = setting("router.fetch.bandwidth", SIZE, "0", RESTART,
        "How many bytes a second a copy for queries sends; at most two are made at the same time."
        " `0`: any number.")
    keep: float = setting("router.fetch.keep", DURATION, "168h", RESTART,
        "How long a copy that was made for a query is wanted. After that `causeway copy sweep`"
        " deletes it.")
