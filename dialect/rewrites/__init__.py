"""Forms of Hive and Spark that the parser lacks, as forms that read the same tables."""
