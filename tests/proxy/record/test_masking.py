"""Secrets that have a name are masked in logs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect.lexing.text_tokens import tokens
from proxy.record.masking import masked, masked_message


@pytest.mark.parametrize(
    "text",
    [
        "SET fs.s3a.secret.key=s3cr3t",
        "set hiveconf:fs.s3a.access.key = s3cr3t",
        "SET javax.jdo.option.ConnectionPassword=s3cr3t and, more; s3cr3t",
        "set spark.password\n=\ns3cr3t",
        "CREATE TABLE t USING jdbc OPTIONS (user 'ann', password 's3cr3t')",
        "CREATE TABLE t USING jdbc OPTIONS ('password'='s3cr3t', url 'x')",
        'CREATE TABLE t USING jdbc OPTIONS ("dbPassword" = "s3cr3t\\"s3cr3t")',
        "CREATE TABLE t USING jdbc OPTIONS (password='it''s3cr3t')",
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:mysql://h/db?user=a&password=s3cr3t&x=1')",
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:postgresql://ann:s3cr3t@h/db')",
        "ALTER TABLE t SET TBLPROPERTIES ('sas.token'='s3cr3t')",
        "CREATE USER ann IDENTIFIED BY 's3cr3t'",
        'SELECT from_json(\'{"api_key": "s3cr3t"}\')',
        "OPTIONS (fs.azure.account.key.x.blob.core.windows.net 's3cr3t')",
        "SELECT * FROM t OPTIONS (PassWord => 's3cr3t')",
        "password='s3cr3t",
        "password (secret='s3cr3t')",
        "SELECT secret, 'x' -- token='s3cr3t'",
    ],
)
def test_secrets_are_masked(text: str) -> None:
    assert "s3cr3t" not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT password FROM users",
        "SELECT passport, token_count FROM t WHERE name = 'x'",
        "SET spark.sql.shuffle.partitions=2",
        "SELECT * FROM a JOIN b ON a.k = b.k",
        "LOAD DATA INPATH 'hdfs://nn:8020/x' INTO TABLE t",
    ],
)
def test_text_that_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("/* pwd=' */ DROP TABLE t -- '", "/* pwd=' */ DROP TABLE t -- '"),
        ("SELECT 'password=' AS a, 'b'", "SELECT 'password=' AS a, 'b'"),
        ("OPTIONS (password 'x') SELECT 'y'", "OPTIONS (password '***') SELECT 'y'"),
        ("OPTIONS (my.token = r'a\\', k 'v')", "OPTIONS (my.token = r'***', k 'v')"),
        ("SELECT 1 -- pwd=x\n, 'b'", "SELECT 1 -- pwd=***\n, 'b'"),
        ("OPTIONS (password 12345, n 1)", "OPTIONS (password ***, n 1)"),
        ("x token " + f"'{'v' * 1000}'", "x token '*** (1,000 characters)'"),
        ("a.`secret` = b.`secret` AND c = 'x'", "a.`secret` = b.`secret` AND c = 'x'"),
    ],
)
def test_only_the_value_is_masked(text: str, result: str) -> None:
    assert masked(text) == result


def test_messages_are_masked() -> None:
    message = "bad url jdbc:x?password=s3cr3t&a=1, don't use it; pwd='s3cr3t' is wrong"
    assert masked_message(message) == (
        "bad url jdbc:x?password=***&a=1, don't use it; pwd='***' is wrong"
    )
    assert masked_message("pwd=' and more") == "pwd=' and more"


@given(st.text())
def test_tokens_are_all_of_the_text(text: str) -> None:
    found = list(tokens(text))
    assert "".join(text[each.start : each.end] for each in found) == text


@given(st.text(alphabet="pasword='\"`:/@ \\st", max_size=400))
def test_masking_accepts_any_text(text: str) -> None:
    assert isinstance(masked(text * 20), str)


@pytest.mark.parametrize(
    "piece", ["a", "pass", "password", " ", "password ", "a.", "://a:", "'", "password '", "set "]
)
@pytest.mark.timeout(20)  # quadratic time would be minutes
def test_masking_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(masked("password" + text)) <= len(text) * 2
    masked("SET " + text)
