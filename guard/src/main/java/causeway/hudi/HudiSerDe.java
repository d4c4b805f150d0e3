package causeway.hudi;

import org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe;

/**
 * Hive's SerDe of parquet by a name without "parquet". If the name of a table's SerDe has that word, Spark
 * reads the table's files by itself, in all their versions (spark.sql.hive.convertMetastoreParquet).
 */
public final class HudiSerDe extends ParquetHiveSerDe {}
