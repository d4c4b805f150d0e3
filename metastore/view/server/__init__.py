"""The view's endpoints: connections, requests, and what they share."""
