"""Which users may run sessions as other users."""
