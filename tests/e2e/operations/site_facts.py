"""Facts about a site's proxy, Thrift Servers and tables, for tests in which these are lost."""

import json
import re
from contextlib import closing, suppress
from typing import Any
from urllib.request import urlopen

from conf.names import TableRef
from conf.placement import Placement, read_placement
from metastore.client.metastore_client import HmsClient
from tests.e2e.conftest import C1, C2, rows
from tests.e2e.operations.proxy_site import Site


def users(site: Site) -> set[str]:
    """The users with a session in the proxy."""
    return {each["user"] for each in site.get_admin("sessions")}


def works_in_c2(site: Site) -> bool:
    """Whether a new client can run a statement in c2."""
    with closing(site.connect()) as connection:
        return rows(connection.cursor(), f"USE CLUSTER {C2}", "SELECT id FROM range(2)") == [
            (0,),
            (1,),
        ]


def cursor_with_state(site: Site) -> Any:
    """A cursor whose session has a setting and a temporary view, made in c1."""
    cursor = site.connect().cursor()
    rows(cursor, f"USE CLUSTER {C1}", "SET my.own=7")
    rows(cursor, "CREATE TEMPORARY VIEW mine AS SELECT ${my.own} AS a")
    return cursor


def has_state(cursor: Any) -> bool:
    """Whether the session has what `cursor_with_state` made."""
    return rows(cursor, "SET my.own") == [("my.own", "7")] and rows(
        cursor, "SELECT a FROM mine"
    ) == [(7,)]


def is_up(site: Site) -> bool:
    """Whether the proxy sees the first Thrift Server of c1 as up."""
    return site.endpoint_states()[str(site.endpoints[0])]["up"] is True


def open_marks(site: Site, table: str) -> list[str]:
    """The ids of the table's marks of running writes."""
    return [mark.id for mark in placement_of(site, table).open]


def last_audited(site: Site, beginning: str) -> dict[str, Any]:
    """The last line of the audit log whose statement begins with `beginning`; {} without one."""
    lines = [json.loads(line) for line in site.audit.read_text().splitlines()]
    found = [each for each in lines if str(each.get("text")).startswith(beginning)]
    return found[-1] if found else {}


def placement_of(site: Site, table: str) -> Placement:
    with HmsClient((site.stack.ports.metastore,)) as client:
        return read_placement(client.get_table(TableRef.parse(table)).parameters, C1)


def spark_sessions(ui: int) -> int:
    """The number of sessions on the pages of both Thrift Servers. The server that starts second has
    the first free port after `ui`."""
    counts = []
    for port in range(ui, ui + 5):
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/sqlserver/", timeout=10) as page:
            counts += re.findall(r"(\d+)\s*session\(s\)\s*are online", page.read().decode())
    assert len(counts) == 2
    return sum(map(int, counts))
