"""A Hudi table's files: timeline, commits, slices."""
