"""The canonical name of a setting that a client writes in one of several ways.

The keys of OpenSession have HiveServer2's prefixes (`set:hiveconf:x`, `set:hivevar:x`), and Spark's
SET reads `hivevar:x` as x. Hive's `hiveconf:x` is read as x too, so that it is restricted like x;
Spark stores it under the long name, where it has no effect.
"""

_PREFIXES = ("set:", "hiveconf:", "hivevar:", "metaconf:", "sparkconf:", "spark:")
TIME_ZONE = "spark.sql.session.timeZone"
SERVER_PREFIXES = ("system:", "env:")  # Java properties and environment of the server


def canonical_name(key: str) -> str:
    """The setting's name in lower case, without prefixes, white space and backquotes.

    Properties of the server's process keep their prefix, `system:` or `env:`.
    """
    name = key.strip().strip("`").strip().lower()
    while True:
        prefix = next((each for each in _PREFIXES if name.startswith(each)), None)
        if prefix is None:
            return name
        name = name.removeprefix(prefix).strip()


def is_of_server(key: str) -> bool:
    """Whether the key names a Java property or an environment variable of the server's process,
    which all sessions share."""
    return canonical_name(key).startswith(SERVER_PREFIXES)
