"""Metadata calls: GetSchemas, GetTables, GetColumns and GetInfo."""
