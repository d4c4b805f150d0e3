"""Scripts of Spark 4: `BEGIN .. END` with statements, local variables and control flow."""
