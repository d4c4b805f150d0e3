{{ config(materialized="table") }}
SELECT no_such_column FROM {{ ref("orders") }}
