"""A Thrift client of the Hive Metastore that keeps every field.

A `Struct` keeps all fields that it was read with, also unknown ones, so that an object keeps them
when it is read, changed and written back. `types` names the fields that Causeway uses.
"""
