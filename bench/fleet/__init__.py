"""Simulates a fleet: the real analysis, router, cache and advice work on a model of tables."""
