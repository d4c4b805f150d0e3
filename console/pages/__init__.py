"""One module for each screen: its `ROUTES`, handlers that read from the sources, and pure functions
that compute the template's context."""
