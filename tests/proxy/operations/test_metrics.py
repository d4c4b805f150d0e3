"""Counts and histograms, alone and of several processes together, in Prometheus's words."""

import json

from proxy.operations.metrics import FAMILIES, Metrics, merged, text


def test_counters_and_histograms() -> None:
    metrics = Metrics()
    metrics.count("causeway_decisions_total", "DC-R5", 'ea"st\n')
    metrics.count("causeway_sent_bytes_total", by=1_000_000)
    for seconds in (0.0004, 0.001, 0.3, 1000):
        metrics.took("connect", seconds)
    told = text(metrics.samples()).splitlines()
    assert 'causeway_decisions_total{rule="DC-R5",cluster="ea\\"st\\n"} 1' in told
    assert "causeway_sent_bytes_total 1000000" in told
    assert 'causeway_phase_seconds_bucket{phase="connect",le="0.0005"} 1' in told
    assert 'causeway_phase_seconds_bucket{phase="connect",le="0.001"} 2' in told
    assert 'causeway_phase_seconds_bucket{phase="connect",le="600"} 3' in told
    assert 'causeway_phase_seconds_bucket{phase="connect",le="+Inf"} 4' in told
    assert 'causeway_phase_seconds_count{phase="connect"} 4' in told
    assert 'causeway_phase_seconds_sum{phase="connect"} 1000.3014' in told
    assert "causeway_sessions 0" in told


def test_each_family_is_described_once_before_its_samples() -> None:
    metrics = Metrics()
    metrics.count("causeway_errors_total", "CW101")
    metrics.took("fetch", 1)
    lines = text(metrics.samples()).splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert types == list(FAMILIES)
    current = ""
    for line in lines:
        if line.startswith("# TYPE"):
            current = line.split()[2]
        elif not line.startswith("#"):
            assert line.startswith(current)


def test_processes_add_up_and_a_server_is_well_when_one_says_so() -> None:
    ones, others = Metrics(), Metrics()
    for each in (ones, others):
        each.count("causeway_sessions", by=3)
        each.took("connect", 0.1)
    up = ("causeway_endpoint_up", ("east", "h:1"))
    processes = [[*ones.samples(), (*up, 1.0)], [*others.samples(), (*up, 1.0)]]
    told = text(merged(json.loads(json.dumps(processes)))).splitlines()
    assert "causeway_sessions 6" in told
    assert 'causeway_endpoint_up{cluster="east",endpoint="h:1"} 1' in told
    assert 'causeway_phase_seconds_count{phase="connect"} 2' in told
