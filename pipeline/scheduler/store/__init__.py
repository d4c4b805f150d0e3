"""The store of entities, instances and alerts: tables, migrations and transactions."""
