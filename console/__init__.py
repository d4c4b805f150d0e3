"""Causeway in a browser.

A request of a page asks the sources (proxies, history, lifecycle, metastore) for facts, a pure
function makes of them what the page shows, and a template or a drawing renders it. The console
keeps nothing on disk: log-ins and copies that run are in memory.
"""
