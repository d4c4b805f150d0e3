"""What statements of the past say about copies: which would have run, and which copies would help.

Pure functions over the real analysis (`dialect`) and the real router; `cli` reads and writes files.
"""
