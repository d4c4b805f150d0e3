"""The runs of copies: their directories, leases, take-over and clean-up."""
