"""Commands about copies, feeds and processes."""
