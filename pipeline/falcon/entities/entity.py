"""Any entity."""

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Process

Entity = Cluster | Feed | Process | Datasource
