"""The web console.

The handler of a page reads facts from the sources (proxies, history, lifecycle, metastore). A pure
function computes from them what the page shows, and a template or a drawing renders it. The console
keeps nothing on disk: log-ins and running copies are in memory.
"""
