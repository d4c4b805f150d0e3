"""Copies of tables of Delta and Iceberg, which continue the copy before in its directory."""
