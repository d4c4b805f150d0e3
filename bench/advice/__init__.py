"""Benchmarks of assess and advise: `python -m bench.advice tpcds|drift|large|assess`."""
