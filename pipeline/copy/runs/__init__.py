"""The runs of copies: their directories and leases, what a run takes over, and sweeps."""
