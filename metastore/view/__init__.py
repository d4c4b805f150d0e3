"""One metastore as each cluster sees it: decisions about bytes, no I/O.

`methods` says of every call where names and objects are in it; `objects` finds them in the bytes;
`locations` and `outbound` give each cluster its own; `admission` admits or refuses a mutating
call, and says what to ask the metastore first. `view.server` does what they say.
"""
