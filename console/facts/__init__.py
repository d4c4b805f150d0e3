"""What pages show, computed from what the sources say. Pure."""
