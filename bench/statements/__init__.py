"""What one statement costs: its analysis, its claim, its route, its place in the history."""
