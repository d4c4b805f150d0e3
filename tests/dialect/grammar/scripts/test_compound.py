"""Scripts are split into pieces."""

import pytest

from dialect.errors import NotUnderstood
from dialect.grammar.scripts.compound import MAX_DEPTH, MAX_PIECES, PieceKind, parse_script
from dialect.lexing.tokenize import tokenize


def pieces(sql: str) -> list[str]:
    """The texts of the pieces, each with the letter of its kind."""
    return [f"{each.kind.name[0]} {each.text}" for each in parse_script(tokenize(sql), sql).pieces]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("", []),
        ("SELECT ';'; /* ; */ SELECT 2 -- ;\n;", ["S SELECT ';'", "S SELECT 2"]),
        ("l: BEGIN NOT ATOMIC SELECT 1; END l;", ["S SELECT 1"]),
        ("IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT 3; END IF;",
         ["E a", "S SELECT 1", "E b", "S SELECT 2", "S SELECT 3"]),
        ("IF CASE WHEN a THEN b END THEN SELECT CASE WHEN c THEN d END; END IF;",
         ["E CASE WHEN a THEN b END", "S SELECT CASE WHEN c THEN d END"]),
        ("CASE a WHEN 1 THEN SELECT 1; WHEN 2 THEN SELECT 2; ELSE SELECT 3; END CASE;",
         ["E a", "E 1", "S SELECT 1", "E 2", "S SELECT 2", "S SELECT 3"]),
        ("CASE WHEN a THEN SELECT 1; END CASE;", ["E a", "S SELECT 1"]),
        ("l: WHILE a DO LEAVE l; ITERATE l; END WHILE l;", ["E a"]),
        ("REPEAT SELECT 1; UNTIL a = (SELECT 2) END REPEAT;", ["S SELECT 1", "E a = (SELECT 2)"]),
        ("LOOP SELECT 1; END LOOP;", ["S SELECT 1"]),
        ("FOR SELECT 1 DO SELECT 2; END FOR;", ["Q SELECT 1", "S SELECT 2"]),
        ("FOR r AS (SELECT 1) DO SELECT 2; END FOR;", ["Q (SELECT 1)", "S SELECT 2"]),
        ("DECLARE a INT; DECLARE b, c STRING DEFAULT f(a); DECLARE VARIABLE d = 1;",
         ["E f(a)", "E 1"]),
        ("DECLARE a, b INT; SET a = 1, b = (2, 3).x; SET VAR a = 4; SET (a, b) = (SELECT 5, 6);",
         ["E 1", "E (2, 3).x", "E 4", "Q SELECT 5, 6"]),
        ("DECLARE c CONDITION; DECLARE d CONDITION FOR SQLSTATE VALUE '12345';", []),
        ("DECLARE EXIT HANDLER FOR NOT FOUND, SQLSTATE '42000', a.b BEGIN SELECT 1; END;",
         ["S SELECT 1"]),
        ("DECLARE a INT; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET a = 1;", ["E 1"]),
        ("DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1;", ["S SELECT 1"]),
        ("DECLARE c ASENSITIVE CURSOR FOR SELECT 1 FOR READ ONLY; DECLARE a INT; OPEN c USING 2, 3;"
         " FETCH NEXT FROM c INTO a; CLOSE c;", ["Q SELECT 1", "E 2, 3"]),
    ],
)  # fmt: skip
def test_a_script_is_split_into_pieces(body: str, found: list[str]) -> None:
    assert pieces(f"BEGIN {body} END") == found


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN SELECT 1 END",
        "BEGIN SELECT 1;",
        "BEGIN IF a SELECT 1; END IF; END",
        "BEGIN IF a THEN SELECT 1; END; END",
        "BEGIN WHILE a DO SELECT 1; END LOOP; END",
        "BEGIN IF THEN THEN SELECT 1; END IF; END",
        "BEGIN IF (a THEN SELECT 1; END IF; END",
        "BEGIN IF a) THEN SELECT 1; END IF; END",
        "BEGIN l: SELECT 1; END",
        "BEGIN SELECT 1; END; SELECT 2; END",
        "BEGIN SELECT 1; END x",
        "BEGIN FOR table AS SELECT 1 DO SELECT 2; END FOR; END",
        "BEGIN FOR FROM t DO SELECT 2; END FOR; END",
        "BEGIN DECLARE OR REPLACE a INT; END",
        "BEGIN DECLARE session.a INT; END",
        "BEGIN DECLARE a INT; SET session.a = 1; END",
        "BEGIN DECLARE a INT; SET x.a = 1; END",
        "BEGIN BEGIN DECLARE a INT; END; SET a = 1; END",
        "BEGIN DECLARE a INT; FETCH c INTO b; END",
        "BEGIN DECLARE c CURSOR FOR INSERT INTO t SELECT 1; END",
        "BEGIN DECLARE a INT; SET a; END",
        "BEGIN TRANSACTION",
    ],
)
def test_other_texts_are_refused_as_scripts(sql: str) -> None:
    with pytest.raises(NotUnderstood):
        pieces(sql)


def test_a_variable_may_be_qualified_by_its_blocks_label() -> None:
    assert pieces("BEGIN l: BEGIN DECLARE a INT; BEGIN SET l.a = 1; END; END; END") == ["E 1"]


def test_a_piece_has_the_variables_in_its_scope() -> None:
    sql = "BEGIN DECLARE a INT; BEGIN DECLARE b INT; SELECT 1; END; SELECT 2; END"
    found = parse_script(tokenize(sql), sql).pieces
    assert [sorted(each.variables) for each in found] == [["a", "b"], ["a"]]
    assert all(each.kind is PieceKind.STATEMENT for each in found)


def test_depth_and_length_are_bounded() -> None:
    def nested(depth: int) -> str:
        return "BEGIN " * depth + "SELECT 1; " + "END; " * (depth - 1) + "END"

    assert pieces(nested(MAX_DEPTH)) == ["S SELECT 1"]
    with pytest.raises(NotUnderstood, match="deeper"):
        pieces(nested(MAX_DEPTH + 1))
    assert len(pieces("BEGIN " + "SELECT 1; " * MAX_PIECES + "END")) == MAX_PIECES
    with pytest.raises(NotUnderstood, match="more than"):
        pieces("BEGIN " + "SELECT 1; " * (MAX_PIECES + 1) + "END")
