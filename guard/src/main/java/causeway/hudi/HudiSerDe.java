package causeway.hudi;

import org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe;

/**
 * Hive's SerDe of parquet by a name without that word: Spark reads the files of a table itself, and
 * all their versions, where the name of the SerDe has it (spark.sql.hive.convertMetastoreParquet).
 */
public final class HudiSerDe extends ParquetHiveSerDe {}
