"""Jobs of committers that make files visible without a call of a Hadoop file system.

No copy is fresh from before the job until after its commit (D10), also when the driver dies.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep

import pytest

from cli.stack.stack import spark_home
from conf.placement import Copy
from conf.topology import Endpoint
from metastore.client.types import Table
from tests.guard.programs import program
from tests.metastore.view.server.view_calls import AWAY, REF, placed
from tests.metastore.view.spark_writes.copied_tables import fresh, now, other_process, published
from tests.metastore.writable import C1, C2, WritableMetastore
from tests.pipeline.hudi.s3_server import BUCKET, Request, S3Server, running_s3
from tests.pipeline.spark.s3a import s3a_jars

pytestmark = pytest.mark.slow
JAVA = Path(__file__).parent / "java"
IDLE = 15.0  # seconds after which the mark of an unused lease would certainly be gone
S3A = "org.apache.hadoop.fs.s3a.commit"
Views = Mapping[str, Endpoint]


@pytest.fixture(scope="module")
def committer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled UploadCommitter."""
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("no JDK to compile a committer with")
    folder = tmp_path_factory.mktemp("classes")
    jars = f"{spark_home() / 'jars'}/*"
    source = JAVA / "UploadCommitter.java"
    subprocess.run([javac, "-nowarn", "-cp", jars, "-d", str(folder), str(source)], check=True)
    return folder


def uploads(folder: Path, then: str = "") -> list[str]:
    """The settings of a job with an UploadCommitter, which does `then` at the end of the commit."""
    return [
        "mapreduce.outputcommitter.factory.class=UploadCommitter$Factory",
        f"upload.folder=file:{folder}/uploads",
        f"upload.then={then}",
    ]


def add_copied(hms: WritableMetastore, location: str) -> None:
    """Adds a table with a fresh copy, or replaces it."""
    table = Table.make(REF, [("a", "int")], location=location)
    table.parameters = placed(Copy(C2, AWAY, "0"))
    hms.add(table)
    assert fresh(hms)


def wait_for_end(hms: WritableMetastore, seconds: float = 60.0) -> bool:
    """Waits for the end of the table's mark. Returns whether it ended in time."""
    deadline = monotonic() + seconds
    while now(hms).writing and monotonic() < deadline:
        sleep(0.1)
    return not now(hms).writing


def test_a_driver_that_dies_in_a_commit_leaves_its_mark(
    hms: WritableMetastore, view: Views, jar: Path, committer: Path, tmp_path: Path
) -> None:
    output = tmp_path / "t"
    add_copied(hms, f"file:{output}")
    with program(tmp_path, jar, view[C1].port, classpath=[committer]) as run:
        assert run("save", f"file:{output}", *uploads(tmp_path, "halt"))
    assert (output / "part-r-00000").exists()
    assert not fresh(hms)
    assert now(hms).writing


def test_the_mark_ends_with_the_job(
    hms: WritableMetastore, view: Views, jar: Path, committer: Path, tmp_path: Path
) -> None:
    foreign = f"spark.causeway.filesystem.{C2}=file:{tmp_path}/other"
    with program(tmp_path, jar, view[C1].port, classpath=[committer], settings=[foreign]) as run:
        add_copied(hms, f"file:{tmp_path}/t")
        assert run("save", f"file:{tmp_path}/t/committed", *uploads(tmp_path)) == ""
        assert not fresh(hms)
        error = run("save", f"file:{tmp_path}/t/aborted", *uploads(tmp_path, "fail"))
        assert "the commit failed" in error
        assert wait_for_end(hms)
        assert not fresh(hms)
        assert "CW350" in run("save", f"file:{tmp_path}/other/t", *uploads(tmp_path))
        assert not (tmp_path / "other").exists()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.mark.parametrize(
    "name",
    ["magic", *(pytest.param(n, marks=pytest.mark.long) for n in ("directory", "partitioned"))],
)
def test_a_driver_that_dies_after_an_upload_of_s3a_leaves_its_mark(
    name: str, hms: WritableMetastore, view: Views, jar: Path, s3: S3Server, tmp_path: Path
) -> None:
    output = f"s3a://{BUCKET}/{name}"
    add_copied(hms, output)
    settings = s3.settings | {
        "mapreduce.outputcommitter.factory.scheme.s3a": f"{S3A}.S3ACommitterFactory",
        "fs.s3a.committer.name": name,
        "fs.s3a.committer.staging.tmp.path": f"file:{tmp_path}/staging",
        "fs.s3a.buffer.dir": f"{tmp_path}/buffer",
    }
    with program(tmp_path, jar, view[C1].port, classpath=s3a_jars()) as run:
        jvm = int(run("pid"))

        def copy(request: Request) -> None:
            """Publishes a copy before the upload completes, when an unused lease would be over."""
            begun_and_completed = 2
            if request.kind == "POST" and s3.requests.count(request) == begun_and_completed:
                wait_for_end(hms, IDLE)
                with other_process(hms, view) as facts:
                    facts.change_table(REF, published)

        def kill(request: Request, body: bytes) -> bytes:
            if b"CompleteMultipartUploadResult" in body:
                os.kill(jvm, signal.SIGKILL)
            return body

        s3.fault, s3.edit = copy, kill
        error = run("save", output, *map("=".join, settings.items()))
        s3.reset()
    assert error
    assert not fresh(hms)
    assert now(hms).writing
