{% macro note_the_end() %}
  {% if execute and flags.WHICH == "run" %}
    CREATE TABLE IF NOT EXISTS {{ target.schema }}.runs (models int) USING parquet
  {% endif %}
{% endmacro %}

{% macro names() %}
  {% for row in run_query("SHOW TABLES IN " ~ target.schema) %}{{ log(row[1], info=true) }}{% endfor %}
{% endmacro %}
