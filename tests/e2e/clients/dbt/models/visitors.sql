{{ config(materialized="table") }}
SELECT customer, count(*) AS visits FROM {{ source("raw", "visits") }} GROUP BY customer
