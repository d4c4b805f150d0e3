"""The files of a Hudi table: timeline, commit metadata, archive, file slices."""
