"""The `causeway` command, one file a subcommand; the only place that wires rooms together."""
