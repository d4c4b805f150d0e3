"""The one Hive Metastore: its wire, a view of it per cluster, and a cached copy of its facts."""
