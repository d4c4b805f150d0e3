"""Settings of a Spark 3 whose queries a test runs once or twice."""

from pipeline.spark.jar import SPARK_MAJOR

# Java that is generated and compiled for a query pays off after thousands of rows: interpreted, the
# queries of a test take less processor time. Users run compiled queries, and so do the tests of
# `causeway up`, of lost clusters, of programs that write, of packed results, and of Spark 4.
WITHOUT_CODE = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
INTERPRETED = WITHOUT_CODE if SPARK_MAJOR < 4 else {}
COMPILED = ("spark.sql.codegen.wholeStage=true", "spark.sql.codegen.factoryMode=FALLBACK")
