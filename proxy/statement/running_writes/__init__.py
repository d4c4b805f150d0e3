"""The writes that run: on disk while they do, and their marks when their end was not seen."""
