"""Parts start, are healthy and end with the chart's commands where only its volumes can be written.

They run in a mount namespace in which every other file system is read-only.
"""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.password import password_line
from cli.stack.stack import free_ports
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from tests.charts.rendering import pods, settings_files
from tests.docs.pages import ROOT
from tests.metastore.fake import FakeMetastore
from tests.secret_files import private

pytestmark = pytest.mark.slow

SCRIPT = """
mount --make-rprivate /
for each in $(awk '{print $2}' /proc/mounts | grep -vE '^/(proc|sys|dev)(/|$)'); do
  mount -o remount,bind,ro "$each" || exit 90
done
mount -t tmpfs none "$1" || exit 91
mkdir "$1"/tmp "$1"/home "$1"/run "$1"/data
touch "$1"/../written 2>/dev/null && exit 92
export TMPDIR="$1"/tmp HOME="$1"/home
shift
exec "$@"
"""


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    command = ["unshare", "--mount", "mount", "--make-rprivate", "/"]
    if shutil.which("unshare") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("no mount namespace can be made here, which takes root")


@contextmanager
def running(folder: Path, name: str, settings: str) -> "Iterator[subprocess.Popen[str]]":
    """A part of the chart by its own command. At the end it has to stop at SIGTERM."""
    (container,) = pods("minimal" if name != "console" else "full")[f"try-causeway-{name}"][
        "containers"
    ]
    volumes, conf = folder / "volumes", folder / f"{name}.toml"
    volumes.mkdir(exist_ok=True)
    conf.write_text(settings)
    own = " ".join(container["command"][1:]).replace("0.0.0.0", "127.0.0.1")
    words = own.replace("/etc/causeway/settings/causeway.toml", str(conf)).split()
    command = [sys.executable, "-m", "cli.main", *words]
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(volumes), *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        print(output)
    assert process.returncode in (0, -signal.SIGTERM), output
    assert "Read-only file system" not in output


def settings(folder: Path, name: str, ports: dict[str, Endpoint], metastore: FakeMetastore) -> str:
    token = private(folder / "token", "operator 0123456789abcdef\n")
    text = settings_files("minimal")["views" if "view" in name else "proxy"]
    for before, after in {
        "/etc/causeway/secrets/causeway-tokens/administrators": str(token),
        "/run/causeway": str(folder / "volumes" / "run"),
        "/var/lib/causeway": str(folder / "volumes" / "data"),
        "metastore.example.com:9083": str(metastore.endpoint),
        "try-causeway-view-east:9083": str(ports["view"]),
        "10009": str(ports["admin"].port),
        "10000": str(ports["thrift"].port),
        "0.0.0.0": "127.0.0.1",
        "spark-east.example.com": "127.0.0.1",
    }.items():
        text = text.replace(before, after)
    return text


def test_parts_run_where_only_volumes_can_be_written(tmp_path: Path) -> None:
    ports = dict(zip(("view", "admin", "thrift", "console"), free_ports(4), strict=True))
    metastore = FakeMetastore()
    passwords = private(tmp_path / "passwords", password_line("ann", "secret"))
    console = (
        f'console.host = "127.0.0.1"\nconsole.port = {ports["console"].port}\n'
        f'hive.server2.authentication = "FILE"\nproxy.password.file = "{passwords}"\n'
        f'proxy.audit.file = "{tmp_path}/volumes/data/audit.json"\n'
    )
    try:
        with (
            running(tmp_path, "view-east", settings(tmp_path, "view-east", ports, metastore)),
            running(tmp_path, "proxy", settings(tmp_path, "proxy", ports, metastore)) as proxy,
            running(tmp_path, "console", console),
        ):
            assert '"ok"' in answer(f"http://{ports['admin']}/health")
            assert "Log in" in answer(f"http://{ports['console']}/login")
            with HmsClient((ports["view"],), 20) as client:
                assert client.get_all_databases() == ["default"]
            assert proxy.poll() is None
    finally:
        metastore.stop()


def answer(url: str) -> str:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urlopen(url, timeout=5) as response:
                return str(response.read().decode())
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
