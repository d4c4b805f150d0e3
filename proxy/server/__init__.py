"""The endpoint: listeners, clients' connections and the handler of their calls."""
