"""How settings are read: rows, types of values, files, reload, and the list of all settings."""
