"""Hive Metastore over thrift: bytes in, trees that lose nothing out.

A `Struct` keeps every field that it was read with, known to us or not, so that an object which
is read, changed and sent back is the same elsewhere. `nouns` names the few fields we use.
"""
