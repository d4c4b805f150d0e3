{{ config(materialized="incremental", incremental_strategy="append", clustered_by=["id"], buckets=2) }}
SELECT id, customer, {{ is_incremental() }} AS again FROM {{ ref("orders") }}
