"""Access rules applied to one object for one user, and to all that a statement does."""
