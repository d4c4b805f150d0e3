"""The folders that pulls write into: of this machine, on HDFS and on S3."""
