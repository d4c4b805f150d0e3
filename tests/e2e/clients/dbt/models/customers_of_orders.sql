{{ config(materialized="view") }}
SELECT o.id, o.customer, c.name, o.amount, o.bought, o.day
FROM {{ ref("orders") }} o JOIN {{ ref("customers") }} c ON o.customer = c.id
