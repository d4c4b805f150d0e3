"""Decides where a statement runs: a pure function of a request and of facts."""
