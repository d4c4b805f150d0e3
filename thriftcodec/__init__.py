"""Thrift's strict binary protocol, for both endpoints: HiveServer2's and the metastore's.

A value is decoded into a tree, whose types are in `values`. A tree keeps all fields, including
unknown ones, so that an object that is read, changed and written loses nothing. `reader` decodes
bytes, `writer` encodes trees, `skip` skips values or finds them by path without decoding, and
`message_end` finds the end of a message that arrives in pieces.

No memory is allocated for a length or count before it is compared with the bytes that have
arrived. MAX_DEPTH limits the depth of a tree.
"""
