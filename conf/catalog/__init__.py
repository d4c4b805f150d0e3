"""Tables as catalogs describe them: for the analysis of statements (`tables`), as Spark shows them
(`spark_table`), and in lists (`listing`)."""
