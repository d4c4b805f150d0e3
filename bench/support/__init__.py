"""Code that several benchmarks share: stacks, filled metastores and clients."""
