"""A user's session: its state, its operations and its sessions in clusters.

`session` is the state, without I/O; `user_session` has the sessions in clusters. The journal has,
in order, every statement that changed the session. Before a statement runs in a cluster, the
journal's changes are repeated in the cluster's session (`replay/`).
"""
