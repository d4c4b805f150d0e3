"""Where the shared documents are, and small documents to break."""

import os
import re
from pathlib import Path
from typing import TypeVar

import pytest

from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Process
from pipeline.falcon.entity_set import EntitySet

T = TypeVar("T", Cluster, Feed, Process)

SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[4] / "shared"))
FALCON = SHARED / "falcon"

needs_documents = pytest.mark.skipif(
    not FALCON.is_dir(), reason=f"the shared Falcon documents are not at {FALCON}"
)

CLUSTER = """<?xml version="1.0"?>
<cluster colo="west" name="{name}" xmlns="uri:falcon:cluster:0.1">
  <interfaces>
    <interface type="readonly" endpoint="file:///" version="1"/>
    <interface type="write" endpoint="file:///" version="1"/>
    <interface type="execute" endpoint="localhost:10000" version="1"/>
    <interface type="registry" endpoint="thrift://localhost:9083" version="1"/>
  </interfaces>
  <locations><location name="staging" path="/staging"/></locations>
</cluster>
"""

FEED = """<?xml version="1.0"?>
<feed name="clicks" xmlns="uri:falcon:feed:0.1">
  <groups>online</groups>
  <frequency>hours(1)</frequency>
  <sla slaLow="hours(2)" slaHigh="hours(3)"/>
  <timezone>UTC</timezone>
  <late-arrival cut-off="hours(4)"/>
  <clusters>
    <cluster name="c1" type="source">
      <validity start="2013-09-24T00:00Z" end="2013-10-26T00:00Z"/>
      <retention limit="days(2)" action="delete"/>
    </cluster>
    <cluster name="c2" type="target">
      <validity start="2013-09-24T06:00Z" end="2013-10-27T00:00Z"/>
      <retention limit="days(30)" action="delete"/>
      <table uri="catalog:tgt:clicks#ds=${{YEAR}}-${{MONTH}}-${{DAY}}-${{HOUR}};region=us"/>
    </cluster>
  </clusters>
  <table uri="catalog:src:clicks#ds=${{YEAR}}-${{MONTH}}-${{DAY}}-${{HOUR}};region=us"/>
  <ACL owner="ann" group="users" permission="0x755"/>
  <schema location="" provider="hcatalog"/>
  <properties><property name="parallel" value="2"/></properties>
</feed>
""".replace("{{", "{").replace("}}", "}")

DAILY = "ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"
WHOLE = re.sub(r"\n *<(sla|late-arrival|retention) [^>]*>", "", FEED).replace(DAILY, "*")
"""The feed of a table without partitions."""

PROCESS = """<?xml version="1.0"?>
<process name="summary" xmlns="uri:falcon:process:0.1">
  <clusters>
    <cluster name="c1"><validity start="2013-09-25T00:00Z" end="2013-09-26T00:00Z"/></cluster>
  </clusters>
  <parallel>2</parallel>
  <order>FIFO</order>
  <timeout>hours(6)</timeout>
  <frequency>hours(1)</frequency>
  <inputs><input name="in" feed="clicks" start="now(-1,0)" end="now(0,0)"/></inputs>
  <outputs><output name="out" feed="clicks" instance="now(0,0)"/></outputs>
  <properties><property name="blah" value="blah"/></properties>
  <workflow engine="hive" path="/app/summary.hql"/>
  <retry policy="exp-backoff" delay="minutes(10)" attempts="3"/>
  <late-process policy="periodic" delay="hours(1)">
    <late-input input="in" workflow-path="/app/late.hql"/>
  </late-process>
</process>
"""


def read_cluster(name: str = "c1") -> Cluster:
    return _read(CLUSTER.replace("{name}", name), Cluster)


def read_feed(text: str = FEED) -> Feed:
    return _read(text, Feed)


def read_process(text: str = PROCESS) -> Process:
    return _read(text, Process)


def read_entities(*texts: str) -> EntitySet:
    return EntitySet.of(document.read(text.encode()) for text in texts)


def _read(text: str, kind: type[T]) -> T:
    found = document.read(text.encode())
    assert isinstance(found, kind)
    return found
