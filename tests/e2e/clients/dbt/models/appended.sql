{{ config(materialized="incremental", incremental_strategy="append", on_schema_change="append_new_columns",
          clustered_by=["id"], buckets=2) }}
SELECT id, customer{% if is_incremental() %}, amount{% endif %}
FROM {{ ref("orders") }}
