"""Imports of feeds' instances from other databases, and exports to them, by Spark and JDBC.

An import writes its rows aside and publishes them whole; a rerun replaces them. An export loads a
table aside in the database, and merges it in one transaction by the keys of its rows, so that a
repetition changes the same rows.
"""
