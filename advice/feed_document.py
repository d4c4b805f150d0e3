"""Writes the lifecycle's document of a feed that keeps copies of a table's newest days."""

import re
from dataclasses import dataclass
from datetime import date
from xml.sax.saxutils import quoteattr

from advice.assessment import newest_days
from advice.copies import Advice
from advice.stock import TableStock

_FOREVER = "months(1200)"  # a retention that evicts nothing
_END = "2099-12-31T00:00Z"
_DIGITS = re.compile(r"\d")
_PATTERNS = {"9999-99-99": "${YEAR}-${MONTH}-${DAY}", "99999999": "${YEAR}${MONTH}${DAY}"}


@dataclass(frozen=True, slots=True)
class FeedDocument:
    """A feed's name and its XML."""

    name: str
    text: str


def feed_document(each: Advice, table: TableStock, user: str) -> FeedDocument | None:
    """The feed that copies each new day of the table and drops copies of days that are not advised;
    None for a table without a partition for each day."""
    uri = _uri(table)
    bands, placed = table.bands, table.placed
    if uri is None or bands is None or placed is None:
        return None
    days = newest_days(each, table)
    rows = [row for part in each.parts for row in table.rows(part)]
    oldest = min(day for row in rows if (day := bands.days[row]) is not None)
    start = f"{date.fromordinal(oldest)}T00:00Z"
    limit = _FOREVER if days is None else f"days({days})"
    name = f"advice-{each.table.db}-{each.table.name}-{each.cluster}".replace("_", "-").lower()
    ends = (each.source, "source", _FOREVER), (each.cluster, "target", limit)
    clusters = "\n".join(
        f"    <cluster name={quoteattr(cluster)} type={quoteattr(role)}>\n"
        f"      <validity start={quoteattr(start)} end={quoteattr(_END)}/>\n"
        f'      <retention limit={quoteattr(kept)} action="delete"/>\n'
        "    </cluster>"
        for cluster, role, kept in ends
    )
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<feed name={quoteattr(name)} xmlns="uri:falcon:feed:0.1">
  <frequency>days(1)</frequency>
  <timezone>UTC</timezone>
  <clusters>
{clusters}
  </clusters>
  <table uri={quoteattr(uri)}/>
  <ACL owner={quoteattr(user)} group="users" permission="0755"/>
  <schema location="" provider="hcatalog"/>
</feed>
"""
    return FeedDocument(name, text)


def _uri(table: TableStock) -> str | None:
    placed, bands = table.placed, table.bands
    if placed is None or bands is None:
        return None
    keys = [key.name for key in placed.partitions.keys]
    head = f"catalog:{table.ref.db}:{table.ref.name}#"
    if len(keys) == 1:
        newest = max(range(len(bands.days)), key=lambda row: bands.days[row] or 0)
        pattern = _PATTERNS.get(_DIGITS.sub("9", placed.partitions.row(newest)[0]))
        return None if pattern is None else f"{head}{keys[0]}={pattern}"
    if [key.lower() for key in keys] == ["year", "month", "day"]:
        return f"{head}{keys[0]}=${{YEAR}};{keys[1]}=${{MONTH}};{keys[2]}=${{DAY}}"
    return None
