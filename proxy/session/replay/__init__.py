"""What a session changed, in order, and its repetition in other clusters."""
