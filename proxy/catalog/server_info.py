"""The answers to GetInfo.

The Thrift Server answers four kinds and closes the connection at any other. The others are answered
here as in Hive, or as ODBC defines the number. 0 means "no limit, or not known".
"""

from proxy.protocol.cluster_calls import DBMS_NAME

SERVER_NAME, DBMS_VERSION, KEYWORDS = 13, 18, 10006
CLUSTER_KINDS = frozenset({SERVER_NAME, DBMS_NAME, DBMS_VERSION, KEYWORDS})

_NAME_LENGTH = 128
_ANSWERS: dict[int, str | int] = {
    SERVER_NAME: "Spark SQL",
    DBMS_NAME: "Spark SQL",
    DBMS_VERSION: "3.5.9",
    2: "Causeway",  # data source name
    14: "\\",  # search pattern escape
    19: "N",  # not all listed tables are accessible
    20: "N",
    25: "N",  # data source is read only
    28: 3,  # identifiers are stored in lower case
    29: "`",
    30: _NAME_LENGTH,  # column, cursor, schema, catalog and table names
    31: _NAME_LENGTH,
    32: _NAME_LENGTH,
    34: _NAME_LENGTH,
    35: _NAME_LENGTH,
    46: 0,  # no transactions
    73: "N",  # no referential integrity
    90: "N",  # ORDER BY may name columns that are not selected
    KEYWORDS: "",
    94: "",  # special characters in unquoted names
    10000: "1995",
    10002: "N",
    10003: "Y",  # catalog names
    10004: "UTF-8",
    10005: _NAME_LENGTH,
}
_USER_NAME = 47


def answer(info_type: int, user: str) -> str | int:
    """The answer to one kind of GetInfo, without a cluster."""
    return user if info_type == _USER_NAME else _ANSWERS.get(info_type, 0)
