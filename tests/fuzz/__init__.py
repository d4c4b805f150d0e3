"""Readers of what comes from outside, given what nobody means: `make fuzz`."""
