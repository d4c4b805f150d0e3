{{ config(materialized="ephemeral") }}
SELECT * FROM {{ ref("customers_of_orders") }} WHERE amount > 1
