"""The console: Causeway in a browser, a process of its own that keeps no state.

It reads the proxies' REST interfaces, the history's database, the metastore and the lifecycle's REST
interface, and makes pages of them.
"""
