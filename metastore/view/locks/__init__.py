"""Locks of tables: in one process of the view, and in all of its processes at once.

A view may run as several processes, and any of them may change a table's facts. The metastore has
no compare-and-set, so a writer locks the table in every process, from reading facts to writing
them back.

- `process_locks`: the locks that this one process grants (`ProcessLocks`, in memory).
- `distributed_locks`: takes the locks of all processes, this one and its peers
  (`DistributedLocks`); it has the theory. Requests of clients use it.
- `peer_client`: takes the locks of one other process, by the call `causeway_lock`.
- `lock_calls`: the other end of that call. It takes this process's locks for an owner elsewhere: a
  peer, or a writer outside the view (`metastore.client.changes.view_sync`).

docs/internals/view.md has the proof that two writers never overlap.
"""
