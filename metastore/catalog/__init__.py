"""The metastore's tables as catalogs describe them: columns, types and listings.

`describe` is for the analysis of statements, `spark_table` for SHOW and DESCRIBE, `listing` for
GetTables and GetColumns.
"""
