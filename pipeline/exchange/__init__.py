"""Imports of feeds' instances from other databases, and exports to them, by Spark and JDBC.

An import writes its rows into a new directory and publishes it in one step; a rerun replaces it. An
export loads its rows into a staging table in the database and merges them in one transaction by
their keys, so that a repetition changes the same rows.
"""
