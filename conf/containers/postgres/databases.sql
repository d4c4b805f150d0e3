-- When the database server is made: databases beside the metastore's.
CREATE DATABASE history;
CREATE DATABASE lifecycle;
