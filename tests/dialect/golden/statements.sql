-- a table in the current database
SELECT * FROM a
--> select; reads d.a

-- another database's table
SELECT * FROM e.a
--> select; reads e.a

-- three-part name
SELECT * FROM spark_catalog.d.a
--> select; reads d.a

-- another catalog is not understood
SELECT * FROM other.d.a
--> unknown (reads only): other.d.a is not a table of this metastore

-- trailing semicolons and comments
SELECT 1; -- done
;
--> select

-- more than one statement
SELECT 1; SELECT 2
--> unknown: it is more than one statement

-- only a comment

--> empty

-- a string that is a semicolon
SELECT * FROM a WHERE x = ';'
--> select; reads d.a

-- an unused CTE is not read
WITH c AS (SELECT * FROM b) SELECT * FROM a
--> select; reads d.a

-- a CTE shadows a table
WITH a AS (SELECT * FROM b) SELECT * FROM a
--> select; reads d.b

-- a qualified name is never a CTE
WITH a AS (SELECT * FROM b) SELECT * FROM d.a
--> select; reads d.a

-- a CTE is not visible in itself
WITH a AS (SELECT * FROM a) SELECT * FROM a
--> select; reads d.a

-- a CTE inside a sub-query
SELECT * FROM (WITH b AS (SELECT * FROM a) SELECT * FROM b) s
--> select; reads d.a

-- a recursive CTE that does not refer to itself
WITH RECURSIVE c AS (SELECT 1) SELECT * FROM c
--> select

-- sub-queries in every clause
SELECT (SELECT max(x) FROM a) FROM b WHERE x IN (SELECT k FROM q) HAVING count(*) > (SELECT 1 FROM e.a) ORDER BY (SELECT 1)
--> select; reads d.b, d.q@*, d.a, e.a

-- set operations
SELECT x FROM a UNION SELECT x FROM b INTERSECT SELECT x FROM e.a
--> select; reads d.a, d.b, e.a

-- TABLE as a query
TABLE a
--> select; reads d.a

-- VALUES as a query
VALUES (1), (2)
--> select

-- FROM first
FROM a SELECT x WHERE y = 1
--> from_select; reads d.a

-- joins of every kind
SELECT * FROM a LEFT SEMI JOIN b ON a.x = b.x CROSS JOIN e.a c FULL OUTER JOIN q ON q.k = c.x
--> select; reads d.a, d.b, e.a, d.q@*

-- a join without a condition
SELECT * FROM a JOIN b JOIN e.a
--> select; reads d.a, d.b, e.a

-- brackets around joins
SELECT * FROM (a JOIN b ON a.x = b.x) JOIN e.a c ON c.x = b.x
--> select; reads d.a, d.b, e.a

-- lateral view
SELECT e FROM a LATERAL VIEW explode(split(x, ',')) t AS e
--> select; reads d.a

-- lateral sub-query
SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x)
--> select; reads d.a, d.b

-- files by path
SELECT * FROM parquet.`/data/x`
--> select; paths_read /data/x

-- a table in a database named like a format
SELECT * FROM parquet.events
--> select; reads parquet.events

-- a table function that reads a table
SELECT * FROM hudi_table_changes('d.a', 'latest_state', 'earliest')
--> select; reads d.a

-- a table function that reads a path
SELECT * FROM hudi_table_changes('/data/x', 'latest_state', 'earliest')
--> select; paths_read /data/x

-- a table function that is not known
SELECT * FROM my_function('t')
--> unknown (reads only): the table function my_function

-- a generator in FROM
SELECT * FROM range(10)
--> select

-- pivot
SELECT * FROM p PIVOT (max(v) FOR hr IN (0, 11)) WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- Hive's table function over rows
SELECT * FROM noop(ON p PARTITION BY ds ORDER BY hr) WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- transform
SELECT TRANSFORM (x, y) USING 'cat' AS (q, r) FROM a
--> select; reads d.a

-- Hive's MAP and REDUCE
FROM (FROM a MAP x, y USING 'cat' AS k, v CLUSTER BY k) m REDUCE k, v USING 'wc' AS c
--> from_select; reads d.a

-- Hive's unique join
FROM UNIQUEJOIN PRESERVE a l (l.x), b r (r.x) SELECT l.x, r.z
--> from_select; reads d.a, d.b

-- a table sample: Spark puts no condition below it
SELECT * FROM p TABLESAMPLE (10 PERCENT) s WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- a sample of rows stops where it has enough
SELECT * FROM p TABLESAMPLE (10 ROWS) s WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- time travel
SELECT * FROM a TIMESTAMP AS OF '2020-01-01'
--> select; reads d.a

-- a view and what it prunes
SELECT * FROM v WHERE ds = '2020-01-02'
--> select; reads d.p@[ds=2020-01-02/hr=11]; views d.v

-- views in another namespace, columns renamed twice
SELECT * FROM e.w WHERE day = '2020-01-01'
--> select; reads d.p@[ds=2020-01-01/hr=11]; views e.w, d.v2, d.v

-- a view of itself
SELECT * FROM loop
--> unknown (reads only): views nested deeper than 80, at d.loop

-- a temporary view of the session
SELECT * FROM tv WHERE hr = 0
--> select; reads d.p@[ds=2020-01-01/hr=0]; temps tv

-- a temporary table of the session
SELECT * FROM tt JOIN a
--> select; reads d.a; temps tt

-- temporary objects in a query of WITH that nothing refers to are looked up, and not read
WITH c AS (SELECT * FROM tv JOIN a), e AS (WITH i AS (TABLE tt) SELECT 1) SELECT * FROM b
--> select; reads d.b; temps tv, tt

-- a persistent view does not see temporary ones
SELECT * FROM d.tv
--> select; reads d.tv

-- variables
SELECT * FROM ${hivevar:table} WHERE ds = '${day}' AND hr = ${spark.x}
--> select; reads d.p@[]

-- a variable that is not set
SELECT '${nothing}'
--> select

-- a variable that a cluster may have set
SELECT '${spark.nothing}'
--> unknown: the value of ${spark.nothing} is not known

-- prune by equality
SELECT * FROM p WHERE ds = '2020-01-01'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- prune by two keys
SELECT * FROM p WHERE ds = '2020-01-01' AND hr = 11
--> select; reads d.p@[ds=2020-01-01/hr=11]

-- a number against a text key
SELECT * FROM p WHERE ds = 20200101
--> select; reads d.p@[]

-- a text against a number key
SELECT * FROM p WHERE hr = '011'
--> select; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- prune by a disjunction over data and keys
SELECT * FROM p WHERE (ds = '2020-01-01' AND k = 1) OR (hr = 11 AND ds = '2020-01-02' AND v = 2)
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- prune by tuples
SELECT * FROM p WHERE (ds, hr) IN (('2020-01-01', 0), ('2020-01-02', 11))
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-02/hr=11]

-- a constant false reads no partition
SELECT * FROM p WHERE 1 = 2
--> select; reads d.p@[]

-- chance keeps what else is said
SELECT * FROM p WHERE ds = '2020-01-01' AND rand() < 0.5
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- chance alone keeps everything
SELECT * FROM p WHERE ds = cast(rand() AS string)
--> select; reads d.p@*

-- an unknown function keeps everything
SELECT * FROM p WHERE my_udf(ds) = 'x'
--> select; reads d.p@*

-- the default partition is NULL, and its name to Hive
SELECT * FROM q WHERE ds = '__HIVE_DEFAULT_PARTITION__'
--> select; reads d.q@[ds=__HIVE_DEFAULT_PARTITION__]

-- is null
SELECT * FROM q WHERE ds IS NULL
--> select; reads d.q@[ds=__HIVE_DEFAULT_PARTITION__]

-- is not null
SELECT * FROM q WHERE ds IS NOT NULL AND ds < '2020-01-02'
--> select; reads d.q@[ds=2020-01-01]

-- ON of an outer join prunes the other side only
SELECT * FROM p LEFT JOIN q ON p.ds = q.ds AND p.ds = '2020-01-01' AND q.ds < '2020-01-02'
--> select; reads d.p@*, d.q@[ds=2020-01-01]

-- WHERE that rejects NULL makes an outer join inner
SELECT * FROM p LEFT JOIN q ON p.ds = q.ds WHERE q.ds = '2020-01-01'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11], d.q@[ds=2020-01-01]

-- WHERE that accepts NULL does not
SELECT * FROM p LEFT JOIN q ON p.ds = q.ds WHERE coalesce(q.ds, '2020-01-01') = '2020-01-01'
--> select; reads d.p@*, d.q@*

-- inference over join keys
SELECT * FROM p JOIN q ON p.ds = q.ds WHERE q.ds = '2020-01-02'
--> select; reads d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11], d.q@[ds=2020-01-02]

-- inference through a sub-query and a union
SELECT * FROM q JOIN (SELECT ds FROM p UNION ALL SELECT ds FROM q) u ON q.ds = u.ds WHERE q.ds = '2020-01-01'
--> select; reads d.q@[ds=2020-01-01], d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- IN sub-query
SELECT * FROM p WHERE ds IN (SELECT ds FROM q WHERE ds > '2020-01-01')
--> select; reads d.p@*, d.q@[ds=2020-01-02 ds=__HIVE_DEFAULT_PARTITION__]

-- NOT IN sub-query infers nothing
SELECT * FROM p WHERE ds NOT IN (SELECT ds FROM q WHERE ds > '2020-01-01')
--> select; reads d.p@*, d.q@[ds=2020-01-02 ds=__HIVE_DEFAULT_PARTITION__]

-- IN (query) of a constant: Spark makes a join of it after it selected partitions
SELECT * FROM p WHERE ds IN (SELECT '2020-01-01' FROM a)
--> select; reads d.p@*, d.a

-- Spark selects no partitions by a condition with a sub-query, or with a random value
SELECT * FROM p WHERE ds = '2020-01-01' AND if(hr = 0, ds = (SELECT max(ds) FROM q), false)
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11], d.q@*

-- a tuple with a part that is not known, and may be another column
SELECT * FROM (SELECT x, unknown AS y FROM a) s LEFT JOIN p ON (p.ds, s.y) IN (('2020-01-01', 1), ('b', 2))
--> select; reads d.a, d.p@*

-- a random value in a condition with several parts
SELECT * FROM p WHERE (ds = '2020-01-01' AND rand() > 0.5) OR (ds = '2020-01-01' AND hr = 0)
--> select; reads d.p@*

-- correlated EXISTS
SELECT * FROM q WHERE EXISTS (SELECT 1 FROM p WHERE p.ds = q.ds AND p.hr = 11) AND q.ds = '2020-01-02'
--> select; reads d.q@[ds=2020-01-02], d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- a limit lets nothing through
SELECT * FROM (SELECT * FROM p LIMIT 3) WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- a window lets its partition keys through
SELECT * FROM (SELECT *, rank() OVER (PARTITION BY ds ORDER BY k) r FROM p) WHERE ds = '2020-01-01' AND hr = 11
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- grouping lets its keys through
SELECT * FROM (SELECT ds, count(*) c FROM p GROUP BY ds) WHERE ds = '2020-01-01' AND c > 1
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a rollup lets nothing through
SELECT * FROM (SELECT ds, count(*) c FROM p GROUP BY ROLLUP (ds)) WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- having
SELECT ds FROM p GROUP BY ds HAVING ds = '2020-01-01'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- an aggregate of everything under a false condition
SELECT * FROM (SELECT count(*) c FROM p) WHERE c = 0
--> select; reads d.p@*

-- insert
INSERT INTO a SELECT * FROM b
--> insert; reads d.b; insert d.a

-- insert values
INSERT INTO TABLE a (x) VALUES (1)
--> insert; insert d.a

-- insert into a static partition
INSERT OVERWRITE TABLE p PARTITION (ds = '2020-01-01', hr = 011) SELECT x, y FROM a
--> insert; reads d.a; insert d.p@[ds=2020-01-01/hr=11] named ds=2020-01-01/hr=11

-- insert into a dynamic partition
INSERT INTO p PARTITION (ds = '2020-01-02', hr) SELECT x, y, 1 FROM a
--> insert; reads d.a; insert d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11] dynamic

-- insert with all partitions dynamic
INSERT INTO p SELECT x, y, 'd', 1 FROM a
--> insert; reads d.a; insert d.p@* dynamic

-- insert into a table that is not there
INSERT INTO nowhere SELECT * FROM a
--> insert; reads d.a; new insert d.nowhere

-- insert with a CTE before
WITH c AS (SELECT * FROM b) INSERT INTO a SELECT * FROM c
--> insert; reads d.b; insert d.a

-- insert from a CTE, FROM first
WITH c AS (SELECT * FROM p) FROM c INSERT INTO a SELECT k WHERE ds = '2020-01-01'
--> from_insert; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]; insert d.a

-- multi-insert, each branch with its own condition
FROM p INSERT OVERWRITE TABLE a SELECT k, v WHERE ds = '2020-01-01' AND hr = 0 INSERT INTO b SELECT k, v WHERE ds = '2020-01-02' AND hr = 11
--> multi_insert; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-02/hr=11]; insert d.a; insert d.b

-- insert into a directory
INSERT OVERWRITE DIRECTORY '/out' USING parquet SELECT * FROM a
--> insert; reads d.a; paths_written /out

-- insert into a local directory
INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT * FROM a
--> insert; reads d.a; paths_written file:/tmp/x

-- replace where
INSERT INTO p REPLACE WHERE ds = '2020-01-01' SELECT * FROM p WHERE hr = 0
--> insert; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-02/hr=0]; insert d.p@* dynamic

-- create table
CREATE TABLE n (x INT) PARTITIONED BY (ds STRING) STORED AS ORC LOCATION '/data/n'
--> create_table; new create d.n; paths_written /data/n

-- create table as
CREATE TABLE n STORED AS ORC AS SELECT * FROM p WHERE ds = '2020-01-01'
--> ctas; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]; new create d.n

-- create table as, if it is not there, and it is
CREATE TABLE IF NOT EXISTS a AS SELECT * FROM b
--> ctas; defines d.b

-- create table like
CREATE TABLE n LIKE a
--> create_table; reads d.a; new create d.n

-- create temporary table
CREATE TEMPORARY TABLE n AS SELECT * FROM a
--> ctas; reads d.a; effect CreateTempTable(name='n', paths=(), cached=None)

-- replace table
CREATE OR REPLACE TABLE a USING parquet AS SELECT * FROM b
--> ctas; reads d.b; insert d.a

-- create view reads nothing now
CREATE OR REPLACE VIEW n (one COMMENT 'x', two) AS SELECT * FROM p WHERE ds = '2020-01-01'
--> create_view; defines d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]; new view d.n

-- create temporary view
CREATE OR REPLACE TEMPORARY VIEW n AS SELECT * FROM a
--> create_view; defines d.a; effect CreateTempView(name='n', view=ViewText(sql='SELECT * FROM a', db='d', columns=(), produced=(), temps=(), double_quoted_names=False), sql=None)

-- create global temporary view
CREATE GLOBAL TEMPORARY VIEW n AS SELECT 1
--> create_view; effect CreateTempView(name='global_temp.n', view=ViewText(sql='SELECT 1', db='d', columns=(), produced=(), temps=(), double_quoted_names=False), sql=None)

-- create temporary view over files
CREATE TEMPORARY VIEW n USING csv OPTIONS (path '/data/x.csv', header 'true')
--> create_view; paths_read /data/x.csv; effect CreateTempTable(name='n', paths=('/data/x.csv',), cached=None)

-- drop a temporary view
DROP VIEW IF EXISTS tv
--> drop; temps tv; effect DropTemp(name='tv')

-- drop table
DROP TABLE IF EXISTS p PURGE
--> drop; drop d.p@*

-- drop a table that is not there
DROP TABLE nowhere
--> drop

-- drop view
DROP VIEW v
--> drop; view d.v

-- drop database
DROP DATABASE IF EXISTS e CASCADE
--> drop; database_written e

-- create database
CREATE DATABASE IF NOT EXISTS n LOCATION '/n'
--> ddl_other; database_written n

-- truncate
TRUNCATE TABLE p PARTITION (ds = '2020-01-01')
--> truncate; insert d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- load
LOAD DATA INPATH '/in' OVERWRITE INTO TABLE p PARTITION (ds = '2020-01-01', hr = 5)
--> load; insert d.p@[] named ds=2020-01-01/hr=5; paths_read /in

-- load a local file
LOAD DATA LOCAL INPATH '/in' INTO TABLE a
--> load; insert d.a

-- export
EXPORT TABLE p PARTITION (ds = '2020-01-02') TO '/out'
--> export; reads d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11]; paths_written /out

-- import
IMPORT TABLE n FROM '/in'
--> import; new create d.n; paths_read /in

-- add partitions
ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds = 'n', hr = 1) LOCATION '/x' PARTITION (ds = 'm', hr = 2)
--> alter_partition; alter d.p@* named ds=n/hr=1 ds=m/hr=2; paths_written /x

-- drop partitions by condition
ALTER TABLE p DROP IF EXISTS PARTITION (ds < '2020-01-02', hr = 11), PARTITION (hr = 0)
--> alter_partition; reads d.p@[]; alter d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11 ds=2020-01-02/hr=0]

-- rename a partition
ALTER TABLE p PARTITION (ds = '2020-01-01', hr = 0) RENAME TO PARTITION (ds = 'n', hr = 0)
--> alter_partition; reads d.p@[]; alter d.p@[ds=2020-01-01/hr=0] named ds=2020-01-01/hr=0

-- set a location
ALTER TABLE a SET LOCATION '/y'
--> alter; alter d.a; paths_written /y

-- rename a table
ALTER TABLE a RENAME TO n
--> alter; alter d.a; new create d.n

-- rename a view
ALTER VIEW v RENAME TO n
--> alter; view d.v; new view d.n

-- alter a view's query
ALTER VIEW v AS SELECT * FROM a
--> create_view; defines d.a; view d.v

-- exchange partitions
ALTER TABLE p EXCHANGE PARTITION (ds = '2020-01-01') WITH TABLE e.p
--> alter_partition; reads e.p; insert d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11] dynamic; new insert e.p named ds=2020-01-01

-- analyze
ANALYZE TABLE p PARTITION (ds = '2020-01-01') COMPUTE STATISTICS FOR COLUMNS
--> analyze; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]; alter d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- analyze a view: Spark reads through one that is cached
ANALYZE TABLE v COMPUTE STATISTICS
--> analyze; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]; views d.v; alter d.v

-- repair
MSCK REPAIR TABLE p
--> msck; alter d.p@*

-- comment
COMMENT ON TABLE a IS 'x'
--> alter; alter d.a

-- update
UPDATE p SET v = 'x' WHERE ds = '2020-01-01' AND k = 1
--> update; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]; insert d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- delete
DELETE FROM p WHERE hr = 11 AND k IN (SELECT x FROM a)
--> delete; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11], d.a; insert d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- merge
MERGE INTO p USING (SELECT * FROM q WHERE ds = '2020-01-01') s ON p.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *
--> merge; reads d.p@*, d.q@[ds=2020-01-01]; insert d.p@* dynamic

-- describe
DESCRIBE FORMATTED p PARTITION (ds = '2020-01-01')
--> metadata_read; reads d.p@[]

-- describe a query
DESC QUERY SELECT * FROM a
--> metadata_read; reads d.a

-- show
SHOW PARTITIONS p
--> metadata_read; reads d.p@[]

-- show tables
SHOW TABLES IN e LIKE 'a*'
--> metadata_read

-- grant
GRANT SELECT ON TABLE a TO USER x
--> ddl_other

-- explain has no effect of its own
EXPLAIN EXTENDED INSERT INTO a SELECT * FROM b
--> explain insert; reads d.b; insert d.a

-- explain a statement that changes the session
EXPLAIN CREATE TEMPORARY VIEW n AS SELECT 1
--> explain create_view; effect CreateTempView(name='n', view=ViewText(sql='SELECT 1', db='d', columns=(), produced=(), temps=(), double_quoted_names=False), sql=None)

-- explain analyze of a table's statistics
EXPLAIN ANALYZE TABLE a COMPUTE STATISTICS
--> explain analyze; reads d.a; alter d.a

-- use
USE `E`
--> use; effect UseDatabase(database='e')

-- use a database named cluster
USE cluster
--> use; effect UseDatabase(database='cluster')

-- set
SET spark.sql.x = 'a b'
--> set; effect SetVariable(key='spark.sql.x', value="'a b'")

-- set a hive variable
SET hivevar:day=2020-01-01
--> set; effect SetVariable(key='hivevar:day', value='2020-01-01')

-- show a setting
SET spark.sql.x
--> set

-- reset
RESET
--> set; effect ResetVariables(key=None)

-- reset one
RESET spark.sql.x
--> set; effect ResetVariables(key='spark.sql.x')

-- time zone
SET TIME ZONE 'Europe/Oslo'
--> set; effect SetVariable(key='spark.sql.session.timeZone', value='Europe/Oslo')

-- add a jar
ADD JAR /libs/a.jar
--> add; effect AddResource(paths=('/libs/a.jar',))

-- add files
ADD FILES /x/a.txt /x/b.txt
--> add; effect AddResource(paths=('/x/a.txt', '/x/b.txt'))

-- a temporary function
CREATE TEMPORARY FUNCTION f AS 'org.F' USING JAR '/f.jar'
--> ddl_other; effect CreateTempFunction(name='f')

-- drop a temporary function
DROP TEMPORARY FUNCTION IF EXISTS f
--> drop; effect DropTempFunction(name='f')

-- a function
CREATE FUNCTION e.f AS 'org.F'
--> ddl_other; database_written e

-- cache
CACHE LAZY TABLE a
--> cache; reads d.a; effect CacheTable(name='d.a')

-- cache a query's result
CACHE TABLE n AS SELECT * FROM b
--> cache; reads d.b; effect CreateTempTable(name='n', paths=(), cached=ViewText(sql='SELECT * FROM b', db='d', columns=(), produced=(), temps=(), double_quoted_names=False))

-- uncache
UNCACHE TABLE IF EXISTS a
--> cache; effect UncacheTable(name='d.a')

-- refresh
REFRESH TABLE a
--> refresh; reads d.a

-- refresh a path
REFRESH '/data/x'
--> refresh; paths_read /data/x

-- a procedure is not understood
CALL run_clustering(table => 'd.a')
--> unknown: statements that begin with CALL

-- maintenance of Delta
VACUUM a
--> maintenance; reads d.a; insert d.a

-- a comment that Spark carries over the line's end
SELECT * FROM p -- all of it \
WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- quotes within quotes
SELECT * FROM a WHERE x = 'it\'s -- not a comment' AND y = "/* nor */"
--> select; reads d.a

-- a name with odd signs
SELECT * FROM `a` WHERE `x``y` = 1
--> select; reads d.a

-- a union that converts lets no condition on the column through
SELECT * FROM (SELECT ds c FROM q UNION ALL SELECT hr FROM p) WHERE c <> '011'
--> select; reads d.q@*, d.p@*

-- a union of one type does
SELECT * FROM (SELECT ds c FROM q UNION ALL SELECT ds FROM p) WHERE c = '2020-01-02'
--> select; reads d.q@[ds=2020-01-02], d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11]

-- columns by a pattern are not known by position
SELECT * FROM (SELECT `(ds)?+.+` FROM p) WHERE hr = 11
--> select; reads d.p@*

-- every clause of a shared FROM must be understood
FROM p WHERE ds = '2020-01-01' INSERT INTO a SELECT k, v
--> unknown: FROM .. INSERT with more than a list of tables in FROM

-- a join of more than one column, inferred through a chain
SELECT * FROM p JOIN q ON p.ds = q.ds JOIN (SELECT ds FROM q) r ON r.ds = q.ds WHERE r.ds = '2020-01-01'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11], d.q@[ds=2020-01-01]

-- a full join infers nothing
SELECT * FROM p FULL JOIN q ON p.ds = q.ds AND q.ds = '2020-01-01'
--> select; reads d.p@*, d.q@*

-- Spark infers nothing over sub-queries of conditions
SELECT * FROM q WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.ds = q.ds) AND q.ds = '2020-01-02'
--> select; reads d.q@[ds=2020-01-02], d.p@*

-- an IN sub-query under OR is read as a whole
SELECT * FROM p WHERE ds IN (SELECT ds FROM q) OR hr = 0
--> select; reads d.p@*, d.q@*

-- a lateral view keeps the conditions on its source
SELECT * FROM p LATERAL VIEW explode(split(v, ',')) t AS e WHERE ds = '2020-01-01' AND e = 'x'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a generated column is not a key of the same name
SELECT * FROM a LATERAL VIEW explode(split(x, ',')) t AS ds JOIN q ON q.k = t.ds WHERE t.ds = '2020-01-01'
--> select; reads d.a, d.q@*

-- HAVING on an alias that hides the key
SELECT upper(ds) AS ds FROM p GROUP BY upper(ds) HAVING ds = '2020-01-01'
--> select; reads d.p@*

-- create table as with clauses that hold AS
CREATE TABLE n ROW FORMAT DELIMITED NULL DEFINED AS 'x' STORED AS TEXTFILE AS WITH c AS (SELECT * FROM a) SELECT * FROM c
--> ctas; reads d.a; new create d.n

-- insert by path
INSERT OVERWRITE DIRECTORY USING csv OPTIONS (path '/out', sep ';') SELECT * FROM a
--> insert; reads d.a; paths_written /out

-- a global temporary view is not a table of that name
SELECT * FROM global_temp.gone
--> unknown (reads only): global_temp.gone is not a view that this session made

-- use the catalog that it is in
USE spark_catalog
--> use

-- a negated LIKE
SELECT * FROM p WHERE ds NOT LIKE '%-01'
--> select; reads d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11]

-- a doubly negated LIKE
SELECT * FROM p WHERE NOT ds NOT LIKE '%-01'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a format that is not the default
SELECT * FROM p WHERE to_date(ds, 'dd-MM-yyyy') = '2020-01-01'
--> select; reads d.p@*

-- Hive cuts what Spark does not
SELECT * FROM p WHERE cast(hr AS VARCHAR(1)) = '1'
--> select; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- a cast that keeps everything
SELECT * FROM p WHERE cast(hr AS VARCHAR(2)) = '11' AND ds::char(10) = '2020-01-01  '
--> select; reads d.p@[ds=2020-01-01/hr=11]

-- a year of weeks is another
SELECT * FROM p WHERE date_format(ds, 'YYYY-MM-dd') = '2019-01-01'
--> select; reads d.p@*

-- a format of days
SELECT date_format(ds, 'yyyy') FROM p WHERE date_format(ds, 'yyyyMMdd') = '20200102'
--> select; reads d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11]

-- the functions isnull and isnotnull
SELECT * FROM q WHERE isnull(ds) OR NOT isnotnull(ds)
--> select; reads d.q@[ds=__HIVE_DEFAULT_PARTITION__]

-- a view of Spark finds its columns by name
SELECT * FROM grown WHERE day = '2020-01-02' AND hour = 11
--> select; reads d.p@[ds=2020-01-02/hr=11]; views d.grown

-- a temporary view remembers the names too
CREATE TEMPORARY VIEW n (a, b, day, hour) AS SELECT *, 1 FROM q
--> create_view; defines d.q@*; effect CreateTempView(name='n', view=ViewText(sql='SELECT *, 1 FROM q', db='d', columns=('a', 'b', 'day', 'hour'), produced=('k', 'v', 'ds', '1'), temps=(), double_quoted_names=False), sql=None)

-- NULL equals NULL inside a tuple for Spark
SELECT * FROM q WHERE (ds, 1) = (NULL, 1)
--> select; reads d.q@[ds=__HIVE_DEFAULT_PARTITION__]

-- NULL differs from a value inside a tuple for Spark
SELECT * FROM q WHERE NOT (ds, 1) IN (('2020-01-01', 1))
--> select; reads d.q@[ds=2020-01-02 ds=__HIVE_DEFAULT_PARTITION__]

-- a date that Spark knows by name
SELECT * FROM p WHERE ds < DATE 'tomorrow'
--> select; reads d.p@*

-- a pattern that is none
SELECT * FROM p WHERE ds RLIKE '*a' OR ds RLIKE '(a'
--> select; reads d.p@*

-- a pattern with classes of characters
SELECT * FROM p WHERE ds RLIKE '^[0-9]{4}-\\d+-0[13]$'
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a pattern that would backtrack
SELECT * FROM p WHERE ds RLIKE '(0+)+$'
--> select; reads d.p@*

-- a LIKE of many pieces
SELECT * FROM p WHERE ds LIKE '2%0%-_1%2'
--> select; reads d.p@[ds=2020-01-02/hr=0 ds=2020-01-02/hr=11]

-- a UNION by name is not one by position
SELECT ds, hr FROM p UNION ALL BY NAME SELECT hr, ds FROM p
--> unknown (reads only): by_name of a union

-- DISTINCT ON keeps one row of many
SELECT * FROM (SELECT DISTINCT ON (k) k, ds FROM p) WHERE ds = '2020-01-01'
--> select; reads d.p@*

-- in a list Spark compares a number and a string as strings
SELECT * FROM p WHERE hr NOT IN ('011') AND ds NOT IN (1)
--> select; reads d.p@*

-- values of two kinds are converted before they are compared
SELECT * FROM p WHERE nvl(hr, '011') <> '011' OR if(hr > 0, ds, hr) = '0'
--> select; reads d.p@*

-- comparisons bind alike for the engines
SELECT * FROM p WHERE ds = '2020-01-01' < 'x'
--> select; reads d.p@*

-- a comparison before IS NULL
SELECT * FROM p WHERE ds = '2020-01-01' IS NULL
--> select; reads d.p@[]

-- brackets leave no doubt
SELECT * FROM p WHERE (ds = '2020-01-01') = true
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a sign makes a number of a string
SELECT * FROM p WHERE +ds = 1 OR ds = 1
--> select; reads d.p@*

-- a sum is no sign
SELECT * FROM p WHERE hr +1 = 12
--> select; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- || binds as + does
SELECT * FROM p WHERE ds || hr + 1 = 'x'
--> select; reads d.p@*

-- a function in the place of the engine's
CREATE OR REPLACE TEMPORARY FUNCTION upper AS 'x.Y'
--> unknown: a temporary function with the name of a built-in one

-- a function of another name
CREATE TEMPORARY FUNCTION shout AS 'x.Y'
--> ddl_other; effect CreateTempFunction(name='shout')

-- a rebuild reads tables that the statement does not name
ALTER MATERIALIZED VIEW a REBUILD
--> unknown: REBUILD, which reads the tables of the view

-- a character set before a literal
SELECT * FROM p WHERE ds = _UTF-8 '2020-01-01' AND v = _UTF-8 0xE982B5
--> select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]

-- a column of such a name
SELECT _utf - 8, timestamplocaltz FROM a WHERE _utf
--> select; reads d.a

-- a version of a table
SELECT * FROM p FOR SYSTEM_VERSION AS OF 5 WHERE hr = 11
--> select; reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]

-- a timestamp of the session's zone
SELECT * FROM p WHERE ds > timestamplocaltz '2010-04-01 00:00:00 America/Los_Angeles'
--> select; reads d.p@*

-- rename of a temporary view
ALTER TABLE tv RENAME TO tw
--> alter; temps tv; effect RenameTemp(name='tv', new='tw')

-- rename of a temporary view as one
ALTER VIEW tv RENAME TO tw
--> alter; temps tv; effect RenameTemp(name='tv', new='tw')

-- rename of a temporary view to the name of a table
ALTER VIEW tv RENAME TO a
--> alter; temps tv; effect RenameTemp(name='tv', new='a')

-- rename of a temporary view to one that is there
ALTER VIEW tv RENAME TO tt
--> alter; temps tv, tt; effect RenameTemp(name='tv', new='tt')

-- rename of a temporary view into a database
ALTER TABLE tv RENAME TO d.tw
--> refused; temps tv

-- rename of a global temporary view
ALTER VIEW global_temp.tg RENAME TO th
--> alter; temps global_temp.tg; effect RenameTemp(name='global_temp.tg', new='global_temp.th')

-- rename of a table of a database, not of the view
ALTER TABLE d.tv RENAME TO tw
--> alter; new alter d.tv; new create d.tw

-- another query for a temporary view
ALTER VIEW tv AS SELECT * FROM a
--> create_view; defines d.a; temps tv; effect CreateTempView(name='tv', view=ViewText(sql='SELECT * FROM a', db='d', columns=(), produced=(), temps=('tv',), double_quoted_names=False), sql='CREATE OR REPLACE TEMPORARY VIEW `tv` AS SELECT * FROM a')

-- properties of a temporary view, which Spark refuses
ALTER VIEW tv SET TBLPROPERTIES ('a' = 'b')
--> refused; temps tv

-- columns for a temporary view, which Spark refuses
ALTER TABLE tv ADD COLUMNS (z INT)
--> refused; temps tv

-- drop a temporary view as a table
DROP TABLE tv
--> drop; temps tv; effect DropTemp(name='tv')

-- drop a global temporary view
DROP VIEW global_temp.tg
--> drop; temps global_temp.tg; effect DropTemp(name='global_temp.tg')

-- drop a table of a database, not the view
DROP TABLE d.tv
--> drop

-- drop a global temporary view of another session
DROP VIEW IF EXISTS global_temp.gone
--> unknown: global_temp.gone is not a view that this session made

-- a view over files
SELECT * FROM tp
--> select; paths_read /files; temps tp

-- insert into a view over files
INSERT INTO tp SELECT * FROM a
--> insert; reads d.a; paths_written /files; temps tp

-- insert into a temporary view, which Spark refuses
INSERT OVERWRITE TABLE tv SELECT * FROM a
--> insert; reads d.a; temps tv

-- truncate a temporary view, which Spark refuses
TRUNCATE TABLE tp
--> refused; temps tp

-- load into a temporary view, which Spark refuses
LOAD DATA INPATH '/in' INTO TABLE tp
--> refused; temps tp

-- analyze a temporary view, which Spark refuses
ANALYZE TABLE tv COMPUTE STATISTICS
--> refused; temps tv

-- repair a temporary view, which Spark refuses
MSCK REPAIR TABLE tv
--> refused; temps tv

-- comment on a temporary view, which Spark refuses
COMMENT ON TABLE tv IS 'x'
--> refused; temps tv

-- delete from a temporary view
DELETE FROM tp WHERE x = 1
--> unknown: DELETE: tp is a temporary object

-- merge into a temporary view
MERGE INTO tv USING a ON tv.k = a.x WHEN MATCHED THEN DELETE
--> unknown: MERGE: tv is a temporary object

-- columns of a temporary view
SHOW COLUMNS IN tt
--> metadata_read; temps tt

-- columns of a table of that name
SHOW COLUMNS FROM tt IN d
--> metadata_read; reads d.tt

-- columns of a global temporary view
SHOW COLUMNS IN tg IN global_temp
--> metadata_read; temps global_temp.tg

-- tables and temporary views
SHOW TABLES IN d
--> metadata_read

-- views, temporary ones too
SHOW VIEWS
--> metadata_read

-- uncache a temporary view
UNCACHE TABLE tt
--> cache; temps tt; effect UncacheTable(name='tt')

-- clear the cache
CLEAR CACHE
--> cache; effect UncacheTable(name=None)

-- a global view has no short name
SELECT * FROM tg
--> select; reads d.tg

-- a global view by its name
SELECT * FROM global_temp.tg
--> select; reads d.b; temps global_temp.tg

-- a local view has no long name
SELECT * FROM global_temp.tv
--> unknown (reads only): global_temp.tv is not a view that this session made

-- a view made before a temporary view of a name in it
SELECT * FROM made_before_late
--> select; reads d.late; temps made_before_late

-- a view made after it
SELECT * FROM made_after_late
--> select; reads d.b; temps made_after_late, late

-- a temporary view over temporary views
CREATE TEMPORARY VIEW n AS SELECT * FROM made_after_late, tt
--> create_view; defines d.b; temps made_after_late, late, tt; effect CreateTempView(name='n', view=ViewText(sql='SELECT * FROM made_after_late, tt', db='d', columns=(), produced=(), temps=('made_after_late', 'late', 'tt'), double_quoted_names=False), sql=None)

-- a temporary view that is there
CREATE TEMPORARY VIEW tt AS SELECT 1
--> create_view; temps tt; effect CreateTempView(name='tt', view=ViewText(sql='SELECT 1', db='d', columns=(), produced=(), temps=('tt',), double_quoted_names=False), sql=None)

-- a temporary view that is replaced
CREATE OR REPLACE TEMPORARY VIEW tt AS SELECT 1
--> create_view; effect CreateTempView(name='tt', view=ViewText(sql='SELECT 1', db='d', columns=(), produced=(), temps=(), double_quoted_names=False), sql=None)

-- files in the place of a temporary view
CREATE OR REPLACE TEMPORARY VIEW tv USING parquet OPTIONS (path '/p')
--> create_view; paths_read /p; effect CreateTempTable(name='tv', paths=('/p',), cached=None)

-- a temporary table over files
CREATE TEMPORARY TABLE n USING parquet OPTIONS (path '/p')
--> create_view; paths_read /p; effect CreateTempTable(name='n', paths=('/p',), cached=None)

-- a cached result of a name that is there
CACHE TABLE tv AS SELECT 1
--> cache; temps tv; effect CreateTempTable(name='tv', paths=(), cached=ViewText(sql='SELECT 1', db='d', columns=(), produced=(), temps=('tv',), double_quoted_names=False))

-- replace a function
CREATE OR REPLACE FUNCTION f AS 'a.B'
--> ddl_other; database_written d; effect ChangeFunction(database='d', name='f')

-- make a function, which nobody can have used
CREATE FUNCTION e.f AS 'a.B'
--> ddl_other; database_written e

-- drop a function
DROP FUNCTION IF EXISTS e.f
--> drop; database_written e; effect ChangeFunction(database='e', name='f')

-- set a variable over a variable
SET hivevar:hivevar:x=1
--> set; effect SetVariable(key='hivevar:hivevar:x', value='1')

-- insert into a temporary table of unknown files
INSERT INTO tt SELECT * FROM a
--> unknown: an INSERT into tt: its files are not known

-- a database in backquotes
USE DATABASE `E`
--> use; effect UseDatabase(database='e')

-- a database called database
USE database
--> use; effect UseDatabase(database='database')

-- the catalog that every session is in
SET CATALOG spark_catalog
--> use

-- another catalog
SET CATALOG 'other'
--> unknown: SET CATALOG of another catalog

-- a SQL path, after which a name without a database means another table (Spark 4)
SET PATH = spark_catalog.e, system.builtin
--> unknown: SET PATH, after which names mean other objects

-- a setting of that name
SET path.to = e
--> set; effect SetVariable(key='path.to', value='e')

-- a value in backquotes after several signs: the key ends before the first
SET spark.sql.x = `r` = `q`
--> set; effect SetVariable(key='spark.sql.x', value='q')

-- a session variable, which may have a query
SET VAR `x` = (SELECT max(k) FROM p)
--> set; reads d.p@*; effect AssignVariables(variables=(('system.session.x', SessionVariable(is_text=False, text=None)),), repeatable=False, declares=False)

-- more than one of them
SET VARIABLE (x, y) = (SELECT 1, 2)
--> set; effect AssignVariables(variables=(('system.session.x', SessionVariable(is_text=False, text=None)), ('system.session.y', SessionVariable(is_text=False, text=None))), repeatable=False, declares=False)

-- a setting with the name of the word
SET VAR = 1
--> set; effect SetVariable(key='VAR', value='1')

-- a time zone by an interval
SET TIME ZONE INTERVAL -10 HOURS 30 MINUTES
--> set; effect SetVariable(key='spark.sql.session.timeZone', value='-09:30')

-- a time zone that Spark refuses changes nothing
SET TIME ZONE INTERVAL 3 DAYS
--> set

-- statistics of every table of a database
ANALYZE TABLES IN e COMPUTE STATISTICS NOSCAN
--> analyze; database_written e

-- statistics of every table of the current database
ANALYZE TABLES COMPUTE STATISTICS
--> analyze; database_written d

-- an EXPLAIN of an EXPLAIN
EXPLAIN EXPLAIN EXTENDED INSERT INTO b SELECT * FROM a
--> explain insert; reads d.a; insert d.b

-- a column called with
CREATE TABLE n (with INT)
--> create_table; new create d.n

-- IDENTIFIER of a text that is no name: Spark refuses it
INSERT INTO b SELECT IDENTIFIER('c 1') FROM a
--> refused

-- the table whose definition is taken is named
CREATE TABLE n LIKE e.a
--> create_table; reads e.a; new create d.n

-- columns of a table
SHOW COLUMNS IN a FROM e
--> metadata_read; reads e.a
