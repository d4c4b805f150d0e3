"""Instances: their calendar, states, and the next steps of each. Pure."""
