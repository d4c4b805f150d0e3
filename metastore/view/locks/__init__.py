"""Locks of tables, which all processes of the view respect (docs/internals/view.md)."""
