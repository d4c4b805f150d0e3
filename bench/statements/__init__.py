"""Benchmarks of one statement: its analysis, claim, routing and record in the history."""
