"""Random bytes for the readers of outside data: `make fuzz`."""
