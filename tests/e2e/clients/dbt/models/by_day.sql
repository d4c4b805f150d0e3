{{ config(materialized="incremental", incremental_strategy="insert_overwrite",
          partition_by=["day"], post_hook="ANALYZE TABLE {{ this }} COMPUTE STATISTICS") }}
SELECT customer, amount, '{{ invocation_args_dict["which"] }}' AS command, day
FROM {{ ref("large") }}
{% if is_incremental() %}WHERE day >= (SELECT max(day) FROM {{ this }}){% endif %}
