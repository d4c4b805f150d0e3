"""Commands for copies, feeds, processes and Hudi tables."""
