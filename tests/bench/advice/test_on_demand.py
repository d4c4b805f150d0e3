"""Queries whose data is brought on demand have little more copied than if all were known before."""

from random import Random

import pytest

from bench.advice import tpcds as bench
from bench.advice.on_demand import copied_bytes
from tests.e2e.support import tpcds

pytestmark = pytest.mark.skipif(not tpcds.SHARED.is_dir(), reason="no shared TPC-DS data")


@pytest.mark.slow
def test_the_99_queries_of_tpcds_copy_at_most_a_tenth_more_than_the_fewest_bytes() -> None:
    """In their own order and in another one, for ten placements of the tables. Each query alone
    chooses the fewest bytes or at most three times as many, so what is bounded is the mean."""
    tables = bench.infos()
    sizes = {ref: float(bench.file_size(ref)) for ref in tables}
    texts = [text for _, text in tpcds.queries()]
    stocks = [bench.random_stock(tables, sizes, seed) for seed in range(bench.SEEDS)]
    queries = bench.analysed(stocks[0], texts)
    orders = [queries, Random(1).sample(queries, len(queries))]
    found = []
    for stock in stocks:
        facts, fewest = bench.placed(stock, texts)
        found += [copied_bytes(each, facts, stock.clusters) / fewest for each in orders]
    assert sum(found) / len(found) < 1.1
    assert max(found) < 1.3
