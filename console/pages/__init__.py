"""One module a screen: `ROUTES`, handlers that ask the sources, and pure functions that make of
their facts what a template shows."""
