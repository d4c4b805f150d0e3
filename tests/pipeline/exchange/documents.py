"""A datasource and feeds that import from it and export to it."""

DATASOURCE = """<?xml version="1.0"?>
<datasource colo="west" name="shop" type="generic" xmlns="uri:falcon:datasource:0.1">
  <interfaces>
    <interface type="readonly" endpoint="{url}"/>
    <interface type="write" endpoint="{url}"/>
    <credential type="password-file">
      <userName>{user}</userName><passwordFile>{password}</passwordFile>
    </credential>
  </interfaces>
  <driver><clazz>{driver}</clazz><jar>{jar}</jar></driver>
</datasource>
"""

FULL = '<extract type="full"><mergepolicy>snapshot</mergepolicy></extract>'
DELTA = (
    '<extract type="incremental"><deltacolumn>{}</deltacolumn>'
    "<mergepolicy>append</mergepolicy></extract>"
)
TABLE = '<table uri="catalog:shop:orders#ds=${YEAR}-${MONTH}-${DAY}"/>'
PATH = '<locations><location type="data" path="{}/${{YEAR}}-${{MONTH}}-${{DAY}}"/></locations>'

FEED = """<?xml version="1.0"?>
<feed name="orders" xmlns="uri:falcon:feed:0.1">
  {flag}
  <frequency>days(1)</frequency>
  {zone}
  <clusters>
    <cluster name="c1" type="source">
      <validity start="2024-01-01T00:00Z" end="2024-02-01T00:00Z"/>
      <retention limit="days(900)" action="delete"/>
      {exchange}
    </cluster>
  </clusters>
  {storage}
  <ACL owner="ann"/>
  <schema location="" provider=""/>
  <properties><property name="retryAttempts" value="0"/></properties>
</feed>
"""


def arguments(values: dict[str, str]) -> str:
    pairs = "".join(f'<argument name="{name}" value="{text}"/>' for name, text in values.items())
    return f"<arguments>{pairs}</arguments>" if pairs else ""


def importing(
    extract: str = FULL,
    storage: str = TABLE,
    fields: str = "",
    table: str = "orders",
    flag: str = "",
    zone: str = "",
    **given: str,
) -> str:
    """A feed that imports. `given` are arguments, with '_' for '-'."""
    named = {f"--{name.replace('_', '-')}": text for name, text in given.items()}
    exchange = (
        f'<import><source name="shop" tableName="{table}">{extract}{fields}</source>'
        f"{arguments(named)}</import>"
    )
    return FEED.format(exchange=exchange, storage=storage, flag=flag, zone=zone)


def exporting(
    load: str = "allowinsert",
    storage: str = TABLE,
    fields: str = "",
    table: str = "totals",
    **given: str,
) -> str:
    """A feed that exports."""
    named = {f"--{name.replace('_', '-')}": text for name, text in given.items()}
    exchange = (
        f'<export><target name="shop" tableName="{table}"><load type="{load}"/>{fields}</target>'
        f"{arguments(named)}</export>"
    )
    return FEED.format(exchange=exchange, storage=storage, flag="", zone="")
