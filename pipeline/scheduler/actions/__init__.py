"""The work of instances on clusters: copies, evictions, processes, exchanges, checks of data."""
