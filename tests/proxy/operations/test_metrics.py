"""Counters and histograms of one process and of several, in Prometheus's text format."""

import json
import time

from conf.names import ClusterName, TableRef
from proxy.operations.metrics import COPIES, FAMILIES, Metrics, copy_lags, merged, text


def test_counters_and_histograms() -> None:
    metrics = Metrics()
    metrics.count("causeway_decisions_total", "output", 'ea"st\n')
    metrics.count("causeway_sent_bytes_total", by=1_000_000)
    for seconds in (0.0004, 0.001, 0.3, 1000):
        metrics.observe("connect", seconds)
    lines = text(metrics.samples()).splitlines()
    assert 'causeway_decisions_total{cluster="ea\\"st\\n",rule="output"} 1.0' in lines
    assert "causeway_sent_bytes_total 1e+06" in lines
    assert 'causeway_phase_seconds_bucket{le="0.0005",phase="connect"} 1.0' in lines
    assert 'causeway_phase_seconds_bucket{le="0.001",phase="connect"} 2.0' in lines
    assert 'causeway_phase_seconds_bucket{le="600",phase="connect"} 3.0' in lines
    assert 'causeway_phase_seconds_bucket{le="+Inf",phase="connect"} 4.0' in lines
    assert 'causeway_phase_seconds_count{phase="connect"} 4.0' in lines
    assert 'causeway_phase_seconds_sum{phase="connect"} 1000.3014' in lines
    assert "causeway_sessions 0.0" in lines


def test_each_family_is_described_once_before_its_samples() -> None:
    metrics = Metrics()
    metrics.count("causeway_errors_total", "CW101")
    metrics.observe("fetch", 1)
    lines = text(metrics.samples()).splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert types == list(FAMILIES)
    current = ""
    for line in lines:
        if line.startswith("# TYPE"):
            current = line.split()[2]
        elif not line.startswith("#"):
            assert line.startswith(current)


def test_processes_are_added_up_and_an_endpoint_is_up_if_one_process_reaches_it() -> None:
    ones, others = Metrics(), Metrics()
    for each in (ones, others):
        each.count("causeway_sessions", by=3)
        each.observe("connect", 0.1)
    up = ("causeway_endpoint_up", ("east", "h:1"))
    processes = [[*ones.samples(), (*up, 1.0)], [*others.samples(), (*up, 1.0)]]
    lines = text(merged(json.loads(json.dumps(processes)))).splitlines()
    assert "causeway_sessions 6.0" in lines
    assert 'causeway_endpoint_up{cluster="east",endpoint="h:1"} 1.0' in lines
    assert 'causeway_phase_seconds_count{phase="connect"} 2.0' in lines


def test_the_counts_of_a_statement_take_microseconds() -> None:
    metrics, best = Metrics(), 1.0
    for _ in range(5):
        began = time.process_time()
        for _ in range(1_000):
            metrics.count("causeway_statements_total", "FINISHED")
            metrics.count("causeway_decisions_total", "output", "east")
            for phase in ("analyse", "decide", "connect", "execute", "fetch"):
                metrics.observe(phase, 0.003)
            metrics.count("causeway_sent_bytes_total", by=1_000)
            metrics.count("causeway_sent_rows_total", by=10)
        best = min(best, (time.process_time() - began) / 1_000)
    assert best < 100e-6  # of the processor; some 10 on a machine that is not busy


def test_the_lag_of_copies_has_a_bounded_number_of_labels() -> None:
    west = ClusterName("west")
    since = {(TableRef("d", f"t{number}"), west): float(number) for number in range(COPIES + 9)}
    samples = copy_lags(since | {(TableRef("d", "fresh"), west): None}, COPIES + 9.0)
    assert len(samples) == COPIES
    assert samples[0] == ("causeway_copy_lag_seconds", ("d.t0", "west"), COPIES + 9.0)
    assert copy_lags({(TableRef("d", "fresh"), west): None}, 5.0)[0][2] == 0.0
