"""Answers metadata calls, SHOW and DESCRIBE from the metastore's facts where they are certain."""
