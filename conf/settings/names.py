"""The one name of a setting, whatever way a client writes it.

OpenSession's keys have the prefixes of HiveServer2 (`set:hiveconf:x`, `set:hivevar:x`), and Spark's
SET takes `hivevar:x` for x. Hive's `hiveconf:x` is taken for x as well: Spark keeps such a key as a
setting of that name, which has no effect, so that the stricter reading costs nobody anything.
"""

_PREFIXES = ("set:", "hiveconf:", "hivevar:", "metaconf:", "sparkconf:", "spark:")
SERVER_PREFIXES = ("system:", "env:")  # of the server's process: Java properties, environment


def canonical_name(key: str) -> str:
    """The setting's name in lower case, without prefixes, white space and backquotes.

    A property of the server's process keeps its prefix, `system:` or `env:`.
    """
    name = key.strip().strip("`").strip().lower()
    while True:
        prefix = next((each for each in _PREFIXES if name.startswith(each)), None)
        if prefix is None:
            return name
        name = name.removeprefix(prefix).strip()


def is_of_server(key: str) -> bool:
    """Whether the key names a property of the server's process: a Java property or a variable of
    its environment, which all sessions share."""
    return canonical_name(key).startswith(SERVER_PREFIXES)
