"""Tokens of operators: names, roles, and files that change."""

from pathlib import Path

import pytest

from conf.roles import Role
from conf.secrets import SecretFile
from proxy.administration.operator_tokens import caller_of, first_token, read_tokens
from proxy.operations.audit.audit_events import ApiCaller
from tests.secret_files import private


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ("word\n", [("", "word")]),
        ("ann word\nbob other\n", [("ann", "word"), ("bob", "other")]),
        ("three words here\nword", [("", "word")]),
    ],
)
def test_a_line_is_a_token_or_a_name_and_a_token(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert list(read_tokens(text)) == expected


def test_each_file_has_its_role(tmp_path: Path) -> None:
    names = {Role.VIEWER: "grafana v", Role.OPERATOR: "ann o\nboth", Role.ADMINISTRATOR: "a\nboth"}
    files = {role: SecretFile(private(tmp_path / role.title, text)) for role, text in names.items()}
    assert caller_of("v", files, "h") == ApiCaller("h", "grafana", Role.VIEWER)
    assert caller_of("o", files, "h") == ApiCaller("h", "ann", Role.OPERATOR)
    assert caller_of("a", files, "h") == ApiCaller("h", "", Role.ADMINISTRATOR)
    assert caller_of("both", files, "h").role is Role.OPERATOR
    for wrong in ("", "ann", "ann o", "grafana", "\u00e9"):
        assert caller_of(wrong, files, "h") == ApiCaller("h")
    private(tmp_path / "operator", "")
    assert caller_of("o", files, "h") == ApiCaller("h")


def test_a_client_sends_the_first_token(tmp_path: Path) -> None:
    assert first_token(SecretFile(private(tmp_path / "t", "ann x\nbob y\n"))) == "x"
    assert first_token(SecretFile(private(tmp_path / "t", ""))) == ""
