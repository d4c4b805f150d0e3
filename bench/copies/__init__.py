"""Benchmarks of copies, pulls and the lifecycle, and a demonstration of the lifecycle."""
