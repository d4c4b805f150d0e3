"""GetInfo is answered for every kind that the protocol has."""

from TCLIService.ttypes import TGetInfoType

from proxy.catalog import server_info


def test_every_kind_has_an_answer() -> None:
    kinds = TGetInfoType._VALUES_TO_NAMES
    assert len(kinds) > 40
    for kind in kinds:
        assert isinstance(server_info.answer(kind, "ann"), str | int)
    assert server_info.answer(TGetInfoType.CLI_USER_NAME, "ann") == "ann"
    assert server_info.answer(TGetInfoType.CLI_DBMS_NAME, "ann") == "Spark SQL"
    assert isinstance(
        server_info.answer(server_info.KEYWORDS, "ann"), str
    )  # hive-jdbc reads a text or fails
