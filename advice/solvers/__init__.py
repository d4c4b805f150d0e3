"""Which copies let most statements run under the budgets: exactly, and by a greedy search."""
