"""Reads the elements about other databases: datasources, and imports and exports of feeds."""

from pipeline.falcon.documents.tree import Element
from pipeline.falcon.entities.datasource import Credential, Datasource, DatasourceInterface, Driver
from pipeline.falcon.entities.feed import Direction, Exchange
from pipeline.falcon.entities.identity import Acl


def read(root: Element, acl: Acl) -> Datasource:
    """The datasource of a tree that the grammar accepts."""
    interfaces = root.child("interfaces")
    driver = root.child("driver")
    assert interfaces is not None
    assert driver is not None
    default_credential, default_driver = _credential(interfaces), _driver(driver)
    shared = _pairs(root, "properties")
    return Datasource(
        name=root.attributes["name"],
        interfaces={
            each.attributes["type"]: DatasourceInterface(
                endpoint=each.attributes["endpoint"],
                credential=_credential(each) or default_credential,
                driver=_driver(own) if (own := each.child("driver")) else default_driver,
                properties=tuple(dict(shared + _pairs(each, "properties")).items()),
                line=each.line,
            )
            for each in interfaces.all("interface")
        },
        acl=acl,
        tags=_text(root, "tags"),
        description=root.attributes.get("description", ""),
        line=root.line,
    )


def exchanges(cluster: Element) -> tuple[Exchange, ...]:
    """The imports and exports of a feed's cluster."""
    found = ((each, cluster.child(each.value)) for each in Direction)
    return tuple(_exchange(direction, element) for direction, element in found if element)


def _exchange(direction: Direction, element: Element) -> Exchange:
    end = element.child("source") or element.child("target")
    assert end is not None
    extract, load, fields = end.child("extract"), end.child("load"), end.child("fields")
    return Exchange(
        direction=direction,
        datasource=end.attributes["name"],
        table=end.attributes["tableName"].strip(),
        extract=extract.attributes["type"] if extract else "",
        delta=_text(extract, "deltacolumn") if extract else "",
        merge=_text(extract, "mergepolicy") if extract else "",
        load=load.attributes["type"] if load else "",
        includes=_fields(fields, "includes"),
        excludes=_fields(fields, "excludes"),
        arguments=_pairs(element, "arguments"),
        line=element.line,
    )


def _fields(element: Element | None, name: str) -> tuple[str, ...]:
    found = element.child(name) if element else None
    return tuple(each.text.strip() for each in found.children) if found else ()


def _credential(parent: Element) -> Credential | None:
    found = parent.child("credential")
    if found is None:
        return None
    user, file = _text(found, "userName"), _text(found, "passwordFile")
    return Credential(found.attributes["type"], user, file, found.line)


def _driver(element: Element) -> Driver:
    jars = tuple(each.text.strip() for each in element.all("jar"))
    return Driver(_text(element, "clazz"), jars)


def _text(parent: Element, name: str) -> str:
    found = parent.child(name)
    return found.text.strip() if found else ""


def _pairs(parent: Element, name: str) -> tuple[tuple[str, str], ...]:
    found = parent.child(name)
    children = found.children if found else []
    return tuple((each.attributes["name"], each.attributes["value"]) for each in children)
