SELECT id, amount FROM {{ ref("orders") }} WHERE amount < 0
