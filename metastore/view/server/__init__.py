"""The I/O of the view: its endpoints, the calls of their clients, and the state that they share.

`view_server` listens and accepts, `clients/` reads requests and passes each to `relay` (reads),
`mutation` (changes) or `own_methods` (the view's own calls).
"""
