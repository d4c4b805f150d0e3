"""Tables as catalogs describe them: the metastore, Spark, and lists of names."""
