"""Documents about other databases: their entities, and refusals by name."""

import pytest

from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.feed import Direction, Exchange, Feed
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.rules import entity_rules
from tests.pipeline.exchange.documents import DATASOURCE, DELTA, FULL, PATH, exporting, importing
from tests.pipeline.falcon.documents import CLUSTER, FALCON, needs_documents

TEXT = DATASOURCE.format(
    url="jdbc:derby:x", user="ann", password="/etc/p", driver="a.Driver", jar="/a.jar"
)


def datasource(text: str = TEXT) -> Datasource:
    found = document.read(text.encode())
    assert isinstance(found, Datasource)
    return found


def feed(text: str) -> Feed:
    found = document.read(text.encode())
    assert isinstance(found, Feed)
    return found


def reasons(text: str, *datasources: Datasource) -> list[str]:
    cluster = document.read(CLUSTER.replace("{name}", "c1").encode())
    assert isinstance(cluster, Cluster)
    entity_set = EntitySet({"c1": cluster}, {}, {each.name: each for each in datasources})
    found = feed(text)
    assert entity_rules.alone(found) == ()  # a sound document of Falcon's
    return [each.reason for each in entity_rules.among(found, entity_set)]


def test_an_interface_has_its_own_credential_and_driver_or_the_datasources() -> None:
    own = '<credential type="password-file"><userName>bob</userName><passwordFile>/b</passwordFile>'
    changed = TEXT.replace(
        '<interface type="write" endpoint="jdbc:derby:x"/>',
        '<interface type="write" endpoint="jdbc:derby:x"><driver><clazz>b.Driver</clazz>'
        f"<jar>/b.jar</jar></driver>{own}</credential>"
        '<properties><property name="ssl" value="true"/></properties></interface>',
    )
    found = datasource(changed)
    read, write = found.interfaces["readonly"], found.interfaces["write"]
    assert read.credential is not None
    assert write.credential is not None
    assert (read.credential.user, write.credential.user) == ("ann", "bob")
    assert (read.driver.name, write.driver.name) == ("a.Driver", "b.Driver")
    assert (read.properties, write.properties) == ((), (("ssl", "true"),))


def test_an_exchange_is_what_the_feed_says() -> None:
    fields = "<fields><includes><field>a</field></includes></fields>"
    (found,) = (
        feed(importing(DELTA.format("at"), fields=fields, split_by="a")).clusters[0].exchanges
    )
    assert found == Exchange(
        Direction.IMPORT, "shop", "orders", "incremental", "at", "append",
        includes=("a",), arguments=(("--split-by", "a"),),
    )  # fmt: skip
    (found,) = feed(exporting("updateonly", update_key="a,b")).clusters[0].exchanges
    assert (found.direction, found.load) == (Direction.EXPORT, "updateonly")


def test_a_valid_exchange_has_no_problem() -> None:
    good = datasource()
    assert entity_rules.among(good, EntitySet()) == ()
    assert reasons(importing(), good) == []
    assert reasons(importing(DELTA.format("at")), good) == []
    assert reasons(importing(table="s.orders", split_by="id", num_mappers="4"), good) == []
    assert reasons(exporting(update_key="id, name"), good) == []


READ_ONLY = '<interface type="write" endpoint="jdbc:derby:x"/>'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (importing(FULL.replace("snapshot", "append")), "full with append"),
        (importing(FULL.replace("full", "incremental")), "incremental with snapshot"),
        (importing('<load type="updateonly"/>'), "nothing with nothing"),
        (importing(DELTA.replace("<deltacolumn>{}</deltacolumn>", "")), "needs a deltacolumn"),
        (importing(num_mappers="2"), "--num-mappers needs --split-by"),
        (importing(num_mappers="65", split_by="a"), "65 is more than 64"),
        (importing(num_mappers="x", split_by="a"), "'x' is not a number"),
        (importing(direct="1"), "argument --direct is not one of"),
        (importing(table="orders; DROP TABLE x"), "tableName"),
        (importing(DELTA.format("a = 1 --")), "'a = 1 --' is not a name of a column"),
        (importing(storage=PATH.format("s3a://b/x")), "an object store cannot do in one step"),
        (exporting(), "an export needs --update-key"),
        (exporting(update_key="id", split_by="id"), "argument --split-by is not one of"),
        (exporting(update_key="id)"), "'id)' is not a name of a column"),
    ],
)
def test_an_exchange_that_cannot_be_repeated_is_refused(text: str, reason: str) -> None:
    found = reasons(text, datasource())
    assert any(reason in each for each in found), found


def test_the_datasource_must_exist_and_have_the_interface() -> None:
    assert reasons(importing()) == ["no datasource shop is known"]
    read_only = datasource(TEXT.replace(READ_ONLY, ""))
    assert reasons(importing(), read_only) == []
    assert reasons(exporting(update_key="id"), read_only) == [
        "datasource shop has no write interface"
    ]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('type="password-file"', 'type="password-text"', "password-text is not used here"),
        ("/etc/p", "hdfs://nn/p", "is not a path of the server's machine"),
        ('type="readonly" endpoint="jdbc:', 'type="readonly" endpoint="', "is not a JDBC URL"),
    ],
)
def test_a_datasource_that_cannot_be_used_is_refused(old: str, new: str, reason: str) -> None:
    text = TEXT.replace(old, new)
    if "password-text" in new:
        text = text.replace("passwordFile", "passwordText")
    found = datasource(text)
    assert entity_rules.alone(found) == ()
    assert all(reason in each.reason for each in entity_rules.among(found, EntitySet()))
    assert entity_rules.among(found, EntitySet())


@needs_documents
def test_falcons_own_examples_are_read() -> None:
    folder = FALCON / "apache-falcon-470e5e9f/examples/entity/importexport"
    texts = [each.read_bytes() for each in sorted(folder.glob("*.xml"))]
    seen = [document.read(each) for each in texts if b"-->#" not in each]  # one is no XML
    assert sum(isinstance(each, Datasource) for each in seen) >= 7
    exchanges = [e for f in seen if isinstance(f, Feed) for c in f.clusters for e in c.exchanges]
    assert len(exchanges) >= 15
