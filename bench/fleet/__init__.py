"""A fleet in a simulation: the real analysis, router, cache and advice over tables in a model."""
