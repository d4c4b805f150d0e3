{{ config(materialized="table", pre_hook="SET spark.sql.shuffle.partitions = 3") }}
SELECT customer, name, count(*) AS orders, sum(amount) AS amount
FROM {{ ref("customers_of_orders") }} GROUP BY customer, name
