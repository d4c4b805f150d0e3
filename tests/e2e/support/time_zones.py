"""A stack whose clusters are in time zones of their own, with two processes of the view."""

from dataclasses import replace

from cli.stack.plan import Service
from conf.names import ClusterName
from tests.e2e.conftest import C1, C2
from tests.e2e.support.two_views import TwoViews

LOCAL = {C1: "Europe/Lisbon", C2: "Asia/Tokyo"}  # of the JVM
DEFAULT = {C1: "Europe/Lisbon", C2: "America/New_York"}  # of Spark's sessions


class TwoTimeZones(TwoViews):
    """Each cluster's JVM has the time zone LOCAL, and its Spark sessions have DEFAULT."""

    def _plan(self) -> list[Service]:
        return [_in_zone(each) if each.name in LOCAL else each for each in super()._plan()]


def _in_zone(server: Service) -> Service:
    cluster, at = ClusterName(server.name), server.argv.index("--class")
    default = ("--conf", f"spark.sql.session.timeZone={DEFAULT[cluster]}")
    argv = (*server.argv[:at], *default, *server.argv[at:])
    return replace(server, argv=(argv[0], f"-Duser.timezone={LOCAL[cluster]}", *argv[1:]))
