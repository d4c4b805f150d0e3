"""What copies and pulls cost, and the lifecycle shown on a small example."""
