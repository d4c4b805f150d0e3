"""The lifecycle documents of the embedded stack's clusters and of its sample process. Pure."""

from datetime import datetime
from pathlib import Path
from xml.sax.saxutils import quoteattr

from conf.names import ClusterName
from conf.settings.settings import Settings

SAMPLE_PROCESS = "sample-totals"
_CLUSTER = """\
<?xml version="1.0"?>
<!-- `causeway up` writes this definition again at each start. -->
<cluster name={name} colo={name} description="of causeway up" xmlns="uri:falcon:cluster:0.1">
  <interfaces>
    <interface type="readonly" endpoint={filesystem} version="3.3"/>
    <interface type="write" endpoint={filesystem} version="3.3"/>
    <interface type="execute" endpoint={execute} version="3.5"/>
    <interface type="registry" endpoint={registry} version="2.3"/>
  </interfaces>
  <locations>
    <location name="staging" path="/causeway/staging"/>
    <location name="working" path="/causeway/working"/>
  </locations>
</cluster>
"""
_PROCESS = """\
<?xml version="1.0"?>
<process name={name} xmlns="uri:falcon:process:0.1">
  <clusters>
    <cluster name={cluster}><validity start={start} end="2099-01-01T00:00Z"/></cluster>
  </clusters>
  <parallel>1</parallel>
  <order>LAST_ONLY</order>
  <frequency>days(1)</frequency>
  <timezone>UTC</timezone>
  <workflow engine="hive" path={script}/>
  <retry policy="periodic" delay="minutes(1)" attempts="3"/>
</process>
"""


def cluster_documents(settings: Settings) -> list[bytes]:
    """A document for each cluster. Processes send their statements to the proxy, which routes them
    and records them in the history as any user's."""
    clusters = settings.topology.clusters
    registry = f"thrift://{settings.metastores[0]}"
    return [
        _CLUSTER.format(
            name=quoteattr(name),
            filesystem=quoteattr(cluster.filesystem),
            execute=quoteattr(str(settings.listen)),
            registry=quoteattr(registry),
        ).encode()
        for name, cluster in clusters.items()
    ]


def sample_process(cluster: ClusterName, script: Path, now: datetime) -> bytes:
    """The document of a process that runs the script each day from today on."""
    return _PROCESS.format(
        name=quoteattr(SAMPLE_PROCESS),
        cluster=quoteattr(cluster),
        start=quoteattr(f"{now:%Y-%m-%dT00:00Z}"),
        script=quoteattr(str(script)),
    ).encode()
