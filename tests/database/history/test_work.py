"""Copies and instances in the history, and the thread that writes them, on both databases."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from conf.logs import batch_thread
from database.errors import BadSearch
from database.history import history_thread
from database.history.history_store import HistoryStore
from database.history.history_thread import HistoryThread, Retention, WorkBatch
from database.history.work import WorkRecord
from tests.database.history.work_records import COPY, INSTANCE, copy, instance


def filled(url: str, *records: WorkRecord) -> HistoryStore:
    store = HistoryStore(url)
    WorkBatch(records).write(store)
    return store


def ids(store: HistoryStore, question: str, **parameters: str) -> list[int]:
    found = store.answer(question, parameters)[question]
    return [int(each[question.removesuffix("s").replace("copie", "copy")], 16) for each in found]


def test_a_copy_is_read_as_it_was_written(url: str) -> None:
    (found,) = filled(url, COPY).answer("copies", {})["copies"]
    assert found == {
        "time": "1970-01-12T13:46:44.000Z",
        "copy": COPY.id,
        "table": "sales.orders",
        "from": "east",
        "to": "west",
        "run": COPY.run,
        "trace": COPY.trace,
        "statement": "",
        "instance": "",
        "entity": "feed/orders",
        "target_table": "sales.orders",
        "location": COPY.location,
        "partitions": 2,
        "objects": [
            {"partition": "ds=1", "version": "w1"},
            {"partition": "ds=2", "version": "w2"},
        ],
        "failed": 0,
        "files": 7,
        "bytes": 700,
        "sent": 650,
        "state": "SUCCEEDED",
        "error": "",
        "started": "1970-01-12T13:46:40.500Z",
        "ended": "1970-01-12T13:46:44.000Z",
        "seconds": 3.5,
    }


def test_an_instance_is_read_as_it_was_written(url: str) -> None:
    failed = instance(1, state="FAILED", detail="no space\0", bytes=None, started=None)
    found = filled(url, INSTANCE, failed).answer("instances", {})["instances"]
    assert found[1] == {
        "time": "1970-01-12T13:47:00.000Z",
        "instance": INSTANCE.id,
        "kind": "feed",
        "name": "orders",
        "action": "replicate",
        "cluster": "west",
        "source": "east",
        "nominal": "1970-01-12T13:46Z",
        "run": 0,
        "attempt": 2,
        "state": "SUCCEEDED",
        "bytes": 700,
        "detail": "ds=1: 7 files",
        "error": "",
        "server": "host:1",
        "started": "1970-01-12T13:46:50.000Z",
        "ended": "1970-01-12T13:47:00.000Z",
    }
    assert (found[0]["error"], found[0]["bytes"], found[0]["started"]) == ("no space�", None, None)


def test_the_state_of_a_copy_is_succeeded_partial_or_failed() -> None:
    assert COPY.state == "SUCCEEDED"
    assert replace(COPY, failed=1, error="ds=3: ..").state == "PARTIAL"
    assert replace(COPY, copied=0, error="the metastore is down").state == "FAILED"


def test_each_condition_of_a_search(url: str) -> None:
    store = filled(
        url,
        copy(1),
        copy(2, table="sales.items", entity=""),
        copy(3, source="north", statement="ab"),
        copy(4, target="north", error="no space", copied=0),
        instance(1),
        instance(2, name="items", cluster="north"),
        instance(3, kind="process", action="process", source=""),
        instance(4, state="FAILED"),
    )
    assert ids(store, "copies") == [4, 3, 2, 1]
    assert ids(store, "copies", table="SALES.items") == [2]
    assert ids(store, "copies", **{"from": "north"}) == [3]
    assert ids(store, "copies", to="north") == ids(store, "copies", state="FAILED") == [4]
    assert ids(store, "copies", statement="ab") == [3]
    assert ids(store, "copies", entity="feed/orders", since="1000006.5") == [4, 3]
    assert ids(store, "instances", name="items") == ids(store, "instances", cluster="north") == [2]
    assert ids(store, "instances", kind="process") == [3]
    assert ids(store, "instances", source="east", state="FAILED") == [4]
    with pytest.raises(BadSearch, match="name"):
        store.answer("copies", {"name": "orders"})
    with pytest.raises(BadSearch, match="yesterday"):
        store.answer("instances", {"since": "yesterday"})


@pytest.mark.parametrize("question", ["copies", "instances"])
def test_pages_have_each_row_once(url: str, question: str) -> None:
    made = copy if question == "copies" else instance
    store = filled(url, *(made(number, ended=1000.1 + number // 3) for number in range(20)))
    found: list[int] = []
    parameters = {"limit": "7"}
    while True:
        found += ids(store, question, **parameters)
        following = store.answer(question, parameters)["next"]
        if following is None:
            break
        parameters["before"] = following
    assert found == [*reversed(range(20))]


def test_repeating_a_batch_changes_nothing(url: str) -> None:
    store = filled(url, COPY, INSTANCE)
    filled(url, COPY, INSTANCE)
    assert len(store.answer("copies", {})["copies"]) == 1
    assert len(store.answer("instances", {})["instances"]) == 1


def test_traffic_between_clusters(url: str) -> None:
    failed = copy(3, target="north", error="no space", copied=0, sent=5)
    store = filled(url, copy(1), copy(2, sent=50), failed, copy(4, ended=5.0))
    assert store.answer("traffic", {"since": "1000"})["traffic"] == [
        {"from": "east", "to": "west", "copies": 2, "failed": 0, "bytes": 700},
        {"from": "east", "to": "north", "copies": 1, "failed": 1, "bytes": 5},
    ]


def test_old_work_is_deleted_by_age_and_by_size(url: str) -> None:
    copied = [copy(number) for number in range(5)]
    store = filled(url, *copied, *(instance(number) for number in range(5)))
    assert store.forget(1_000_006.0, 0)[0] == 2
    assert ids(store, "copies") == [4, 3, 2]
    assert store.forget(0.0, copied[0].row()["weight"] + 1)[0] == 2
    assert ids(store, "copies") == [4]
    assert store.forget(9e9, 0)[0] == 6
    assert store.size() == 0


def test_the_thread_writes_records(tmp_path: Path) -> None:
    url = str(tmp_path / "history.db")
    thread: HistoryThread[WorkRecord] = HistoryThread(url, WorkBatch)
    thread.start()
    thread.put(COPY)
    thread.put(INSTANCE)
    while thread.waiting:
        time.sleep(0.01)
    thread.close()
    store = HistoryStore(url)
    assert len(store.answer("copies", {})["copies"]) == 1
    assert len(store.answer("instances", {})["instances"]) == 1
    assert thread.dropped == 0


def test_work_that_a_dead_database_cannot_take_is_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_thread, "MAX_WAITING", 10)
    (tmp_path / "file").write_text("")
    thread: HistoryThread[WorkRecord] = HistoryThread(str(tmp_path / "file" / "h.db"), WorkBatch)
    thread.start()
    for number in range(100):
        thread.put(copy(number))
    thread.close()
    while thread.waiting:
        time.sleep(0.01)
    assert thread.dropped == 100


def test_a_server_without_statements_deletes_old_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_thread, "_TIDY", 0.02)
    url = str(tmp_path / "history.db")
    thread: HistoryThread[WorkRecord] = HistoryThread(url, WorkBatch, Retention(age=3600.0))
    thread.start()
    thread.put(copy(1))
    thread.put(copy(2, ended=time.time()))
    while thread.waiting or ids(HistoryStore(url), "copies") != [2]:
        time.sleep(0.02)
    thread.close()
