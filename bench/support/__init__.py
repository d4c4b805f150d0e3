"""What several measurements share: stacks, filled metastores and clients."""
