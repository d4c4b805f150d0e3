"""Schedules, the states of their instances, and the decisions about the next steps. Pure."""
