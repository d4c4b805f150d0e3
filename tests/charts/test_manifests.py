"""What the chart gives Kubernetes fits Kubernetes' schemas, Causeway's settings and itself."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.main import SUBCOMMANDS, build_parser
from conf.secrets import exposure
from conf.settings.load import examine
from conf.settings.settings import Settings
from proxy.administration.admin import ENDING
from proxy.administration.admin_server import ROUTES
from proxy.operations.metrics import FAMILIES
from tests.charts.rendering import (
    GOLDEN,
    VALUES,
    Document,
    documents,
    named,
    part,
    pods,
    settings_files,
)
from tests.docs.pages import ROOT

USER = 10001  # of the Dockerfile
PODS = [(values, name) for values in VALUES for name in pods(values)]


def settings_of(values: str, name: str, folder: Path) -> Settings:
    """The settings of a part; files that it would find in the container are not there."""
    path = folder / "causeway.toml"
    text = settings_files(values)[name]
    rules = folder / "rules.toml"
    rules.write_text("")
    path.write_text(text.replace("/etc/causeway/files/causeway-rules/rules.toml", str(rules)))
    found = examine(path)
    missing = ("no such file", "No such file")
    assert [each for each in found.problems if not any(m in each.reason for m in missing)] == []
    return found.settings


def container(values: str, name: str) -> Document:
    (found,) = pods(values)[name]["containers"]
    assert isinstance(found, dict)
    return found


def ports(found: Document) -> dict[str, int]:
    return {each["name"]: each["containerPort"] for each in found["ports"]}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("version", ["1.25", "1.37"])
def test_kubernetes_would_take_it(values: str, version: str) -> None:
    tool = shutil.which(str(ROOT / "build" / "kubernetes" / "bin" / "kubernetes-validate"))
    if tool is None:
        pytest.skip("kubernetes-validate is not installed (make chart installs it)")
    command = [tool, "--kubernetes-version", version, "--strict", str(GOLDEN / f"{values}.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    known = [
        each for each in documents(values) if "monitoring.coreos.com" not in each["apiVersion"]
    ]
    assert output.count(" passed for resource ") == len(known)


@pytest.mark.parametrize("values", VALUES)
def test_the_settings_of_every_part_are_valid(values: str, tmp_path: Path) -> None:
    parts = set(settings_files(values))
    assert parts == {part(name) for name in pods(values)}
    for name in parts:
        settings_of(values, name, tmp_path)


@pytest.mark.parametrize(("values", "name"), PODS)
def test_commands_are_those_of_causeway(values: str, name: str) -> None:
    program, *arguments = container(values, name)["command"]
    assert program == "causeway"
    build_parser(SUBCOMMANDS).parse_args(arguments)
    assert "/etc/causeway/settings/causeway.toml" in " ".join(arguments)


@pytest.mark.parametrize(("values", "name"), PODS)
def test_no_container_has_rights_that_it_does_not_need(values: str, name: str) -> None:
    pod, found = pods(values)[name], container(values, name)
    assert pod["automountServiceAccountToken"] is False
    identity = pod["securityContext"]
    assert identity["runAsNonRoot"] is True
    assert identity["runAsUser"] == identity["runAsGroup"] == identity["fsGroup"] == USER
    assert f"useradd --uid {USER} " in (ROOT / "Dockerfile").read_text()
    assert identity["seccompProfile"] == {"type": "RuntimeDefault"}
    assert found["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert found["resources"]["requests"]
    assert found["resources"]["limits"]["memory"]


@pytest.mark.parametrize(("values", "name"), PODS)
def test_secrets_are_files_that_causeway_accepts(values: str, name: str) -> None:
    secrets = [each["secret"] for each in pods(values)[name]["volumes"] if "secret" in each]
    assert secrets
    for each in secrets:  # root's, with the group of fsGroup
        assert exposure(0, each["defaultMode"], USER) == ""
    for each in container(values, name).get("env", ()):
        secret = each["name"].endswith(("PASSWORD", "STORE"))
        assert ("valueFrom" in each) == secret, each["name"]


@pytest.mark.parametrize(("values", "name"), PODS)
def test_every_file_of_the_settings_lies_in_a_volume(values: str, name: str) -> None:
    pod, found = pods(values)[name], container(values, name)
    mounted = {each["name"]: each["mountPath"] for each in found["volumeMounts"]}
    spec = named(values, "Deployment", "StatefulSet")[name]["spec"]
    claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", ())}
    assert set(mounted) == {each["name"] for each in pod["volumes"]} | claims
    assert {"/tmp", "/home/causeway"} <= set(mounted.values())
    text = settings_files(values)[part(name)]
    roots = ["/etc/", "/run/"]
    if part(name) in ("proxy", "console"):  # the others write no audit log
        roots.append("/var/")
    files = {word for word in text.split('"') if word.startswith(tuple(roots))}
    assert files
    for file in files:
        assert any(file.startswith(f"{path}/") for path in mounted.values()), file


@pytest.mark.parametrize(("values", "name"), PODS)
def test_ports_and_probes_are_those_of_the_settings(values: str, name: str, tmp_path: Path) -> None:
    settings, found = settings_of(values, part(name), tmp_path), container(values, name)
    operating, transports = settings.operating, settings.transports
    assert operating.admin is not None
    if part(name) == "proxy":
        expected = {"admin": operating.admin.port}
        expected |= {"thrift": settings.listen.port} if transports.binary else {}
        expected |= {"thrift-http": transports.http_port} if transports.http else {}
        probe, tls = "/health", operating.access.use_tls
        assert f"GET {probe}" in ROUTES
    elif part(name) == "lifecycle":
        assert settings.lifecycle.port is not None
        expected, probe = {"admin": settings.lifecycle.port.port}, "/health"
        tls = operating.access.use_tls
    elif part(name) == "console":
        expected, probe = {"console": settings.console.listen.port}, "/login"
        tls = '"hive.server2.use.SSL" = true' in settings_files(values)["console"]
    else:
        (port,) = ports(found).values()
        assert {each.port for each in settings.view_addresses} == {port}
        expected, probe, tls = {"metastore": port}, "", False
    assert ports(found) == expected
    asked = [found[each] for each in ("startupProbe", "readinessProbe", "livenessProbe")]
    by_http = [each["httpGet"] for each in asked if "httpGet" in each]
    assert {each["path"] for each in by_http} == ({probe} if probe else set())
    assert {each["scheme"] for each in by_http} <= {"HTTPS" if tls else "HTTP"}
    chosen = [each.get("httpGet") or each["tcpSocket"] for each in asked]
    assert {each["port"] for each in chosen} <= set(expected)


@pytest.mark.parametrize("values", VALUES)
def test_a_proxy_is_not_killed_while_it_drains(values: str, tmp_path: Path) -> None:
    pod, found = pods(values)["try-causeway-proxy"], container(values, "try-causeway-proxy")
    sleep = int(found["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = settings_of(values, "proxy", tmp_path).operating.drain_timeout
    assert pod["terminationGracePeriodSeconds"] > sleep + drain + ENDING


@pytest.mark.parametrize("values", VALUES)
def test_services_select_the_pods_of_their_name(values: str) -> None:
    labels = labels_of(values)
    for name, service in named(values, "Service").items():
        selector = service["spec"]["selector"].items()
        (chosen,) = (pod for pod, has in labels.items() if selector <= has.items())
        assert chosen == name.removesuffix("-pods")
        targets = {each["targetPort"] for each in service["spec"]["ports"]}
        assert targets <= set(ports(container(values, chosen)))
    for name, each in named(values, "Deployment", "StatefulSet").items():
        selector = each["spec"]["selector"]["matchLabels"].items()
        assert [pod for pod, has in labels.items() if selector <= has.items()] == [name]


@pytest.mark.parametrize("values", VALUES)
def test_parts_know_each_other_by_their_services(values: str, tmp_path: Path) -> None:
    services, labels = named(values, "Service"), labels_of(values)
    settings = settings_of(values, "proxy", tmp_path)
    assert {each.host for each in settings.view_addresses} <= set(services)
    assert set(settings.views) == set(settings.topology.clusters)
    for proxy in settings.console.proxies:
        pod, _, service = proxy.host.partition(".")
        assert pod.rpartition("-")[0] in labels
        assert services[service]["spec"]["clusterIP"] == "None"


def test_the_console_knows_as_many_proxies_as_there_may_be(tmp_path: Path) -> None:
    scaler = named("full", "HorizontalPodAutoscaler")["try-causeway-proxy"]["spec"]
    console = settings_of("full", "console", tmp_path)
    assert len(console.console.proxies) == scaler["maxReplicas"]
    assert console.lifecycle.port is not None
    assert console.lifecycle.port.host == "try-causeway-lifecycle"
    (metric,) = scaler["metrics"]
    assert metric["pods"]["metric"]["name"] in FAMILIES
    target = scaler["scaleTargetRef"]
    assert target["name"] in named("full", target["kind"])


def labels_of(values: str) -> dict[str, dict[str, str]]:
    """The labels of the pods, by the name of their Deployment or StatefulSet."""
    found = named(values, "Deployment", "StatefulSet")
    return {name: each["spec"]["template"]["metadata"]["labels"] for name, each in found.items()}


def test_a_view_is_one_process_of_one_cluster() -> None:
    """Proxies follow the changes of the process that a view's address leads to: a second one would
    have changes that they do not see."""
    views = {
        name: each["spec"]
        for name, each in named("full", "Deployment", "StatefulSet").items()
        if part(name) == "views"
    }
    assert set(views) == {"try-causeway-view-east", "try-causeway-view-west-2"}
    assert set(views) <= set(named("full", "StatefulSet"))
    assert [each["replicas"] for each in views.values()] == [1, 1]
    words = [word for name in views for word in container("full", name)["command"]]
    clusters = [word for word in words if word.startswith("--cluster=")]
    assert sorted(clusters) == ["--cluster=West_2", "--cluster=east"]
