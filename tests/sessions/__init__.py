"""Random histories of one session over two clusters, compared with one plain Spark session."""
