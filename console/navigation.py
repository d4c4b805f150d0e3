"""The navigation of every page: `(title, path)` of each screen, in order. A user sees those that
its role allows."""

NAVIGATION: list[tuple[str, str]] = [
    ("Map", "/map"),
    ("Live", "/live"),
    ("Refusals", "/refusals"),
    ("Statements", "/statements"),
    ("Freshness", "/freshness"),
    ("Lag", "/lag"),
    ("Feeds", "/feeds"),
    ("Lineage", "/lineage"),
    ("Hudi", "/hudi"),
    ("Where", "/where"),
]
