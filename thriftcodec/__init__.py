"""Thrift's strict binary protocol, once, for both endpoints: HiveServer2's and the metastore's.

`values` has the wire types and the tree that a value becomes: a tree keeps every field that it was
read with, known to us or not, so that an object which is read, changed and written is the same
elsewhere. `reader` and `writer` turn bytes to trees and back; `skip` finds where a value ends
without reading it; `message_end` finds where a message ends whose bytes come in pieces.

Nothing is allocated because of a length or count that a peer names: both are compared with
the bytes that are there. Depth is bounded by MAX_DEPTH.
"""
