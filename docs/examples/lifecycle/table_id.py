"""A Spark process's application: the rows of one partition into another (spark-process.xml).

Arguments: filter, table and database of the input, partition, table and database of the output.
"""

import sys

from pyspark.sql import SparkSession

condition, table, database, partition, out_table, out_database = sys.argv[1:7]
key, _, value = partition.partition("=")

spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.table(f"{database}.{table}").where(condition).createOrReplaceTempView("chosen")
spark.sql(
    f"INSERT OVERWRITE TABLE {out_database}.{out_table} PARTITION ({key}='{value}')"
    " SELECT id, value FROM chosen"
)
spark.stop()
