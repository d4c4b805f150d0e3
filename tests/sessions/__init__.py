"""Random lives of one session over two clusters, held against one plain Spark session."""
