"""Delegation tokens as Hadoop writes them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saslauth.errors import SaslFailed
from saslauth.tokens.delegation_token import (
    METASTORE_KIND,
    DelegationToken,
    text_of_token,
    token_of_file,
    token_of_text,
)
from tests.saslauth.tokens import file_of

HDFS = DelegationToken(b"i" * 200, b"p", "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020")
HIVE = DelegationToken(b"\0\5owner", b"x" * 20, METASTORE_KIND, "DelegationTokenForHiveMetaStore")


@given(st.binary(max_size=70_000), st.binary(max_size=300), st.text(max_size=5))
def test_a_token_and_its_text(identifier: bytes, password: bytes, service: str) -> None:
    token = DelegationToken(identifier, password, METASTORE_KIND, service)
    assert token_of_text(text_of_token(token)) == token


def test_the_metastores_token_is_found_in_a_file() -> None:
    assert token_of_file(file_of(HDFS, HIVE)) == HIVE
    assert token_of_file(f" {text_of_token(HIVE)}\n".encode()) == HIVE
    with pytest.raises(SaslFailed, match="has no token of the kind"):
        token_of_file(file_of(HDFS))


def test_a_file_of_another_format_is_named() -> None:
    with pytest.raises(SaslFailed, match="another format"):
        token_of_file(b"HDTS\1xxx")


@pytest.mark.parametrize("end", range(1, 60, 7))
def test_a_truncated_file_is_refused(end: int) -> None:
    with pytest.raises(SaslFailed):
        token_of_file(file_of(HIVE)[:end])


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for each in (data, b"HDTS\0" + data):
        with suppress(SaslFailed):
            token_of_file(each)
