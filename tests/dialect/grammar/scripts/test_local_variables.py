"""Which names are local variables of a script."""

import pytest

from dialect.errors import NotUnderstood
from dialect.grammar.scripts.local_variables import LocalVariables


def test_a_variable_is_in_scope_in_its_block_and_inner_blocks() -> None:
    variables = LocalVariables()
    with variables.in_scope("outer"):
        variables.declare(["a"])
        with variables.in_scope(""):
            variables.declare(["b"])
            assert variables.assigned(["a"]) == variables.assigned(["outer", "a"]) == "a"
            assert variables.visible() == {"a", "b"}
        for parts in (["b"], ["outer", "b"], ["session", "a"], ["x", "outer", "a"], ["c", "a"]):
            with pytest.raises(NotUnderstood, match="no local variable"):
                variables.assigned(parts)
    assert not variables.visible()


def test_a_name_with_dots_is_not_declared() -> None:
    variables = LocalVariables()
    with variables.in_scope(""), pytest.raises(NotUnderstood, match=r"DECLARE session\.a"):
        variables.declare(["session", "a"])
