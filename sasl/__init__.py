"""SASL for Thrift: negotiations, their mechanisms, and the protection of what follows them."""


def __getattr__(name: str) -> object:
    """Raises ImportError for the class that PyHive wants of PyPI's package of the same name: PyHive
    takes pure-sasl then, as it does where that package is absent."""
    if name == "Client":
        raise ImportError("this is Causeway's package sasl, not PyPI's", name="sasl")
    raise AttributeError(name)
