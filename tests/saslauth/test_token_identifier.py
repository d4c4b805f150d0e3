"""Identifiers of delegation tokens in Hadoop's form."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saslauth.errors import SaslFailed
from saslauth.tokens.token_identifier import TokenIdentifier, read_identifier
from saslauth.tokens.writables import WritableReader, number

ANN = TokenIdentifier("ann", "hive", "spark/h@R", 1_000, 1_700_000_000_000, 5, 2_000_000_000)
# As Hadoop 3.3's DelegationTokenIdentifier writes it.
HADOOP = bytes.fromhex("0003616e6e046869766509737061726b2f6840528e03e88a018bcfe56800058c77359400")


def test_the_bytes_are_those_of_hadoop() -> None:
    assert ANN.encoded() == HADOOP
    assert read_identifier(HADOOP) == ANN


@given(st.integers(0, (1 << 63) - 1))
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    assert WritableReader(number(value)).number() == value


@pytest.mark.parametrize("bad", [b"", b"\x01" + HADOOP[1:], HADOOP[:-1], HADOOP + b"\0"])
def test_malformed_identifiers_are_refused(bad: bytes) -> None:
    with pytest.raises(SaslFailed):
        read_identifier(bad)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(SaslFailed):
        read_identifier(data)
