"""The navigation of every page: `(title, path)` of each screen, in order. Pages show the screens
that the user's role allows."""

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
