"""One statement: analysed, routed, run in a cluster, followed to its end."""
