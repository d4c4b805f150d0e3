"""What ends a negotiation or a protected connection. Callers turn it into errors of their own."""


class SaslFailed(Exception):
    """The negotiation, or the protected connection, cannot go on. The text contains no secret."""
