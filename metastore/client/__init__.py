"""A Thrift client of the Hive Metastore that keeps every field of an object.

A `Struct` keeps all fields that it was read with, also unknown ones. So an object that is read,
changed and written back loses none. `types` has names for the fields that Causeway uses.
"""
