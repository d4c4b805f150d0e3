"""Adds causeway-guard.jar, and the one for Spark 4, to a wheel. pyproject.toml has everything else.

Maven builds the jars first. Without Maven jars that were built before are taken; without both there
is no wheel, since `causeway up`, copies and the guard need a jar.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
TARGET = ROOT / "guard" / "target"
JARS = {
    TARGET / "causeway-guard.jar": (),
    TARGET / "spark4" / "causeway-guard-spark4.jar": ("--activate-profiles", "spark4"),
}
PACKAGE = Path("pipeline", "spark")


class BuildWithJar(build_py):
    """An editable installation takes the jars from guard/target, so nothing is built for it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, PACKAGE)
            target.mkdir(parents=True, exist_ok=True)
            for jar, options in JARS.items():
                _build_jar(jar, options)
                shutil.copy2(jar, target)


def _build_jar(jar: Path, options: tuple[str, ...]) -> None:
    maven = shutil.which("mvn")
    if maven is not None:
        pom = str(ROOT / "guard" / "pom.xml")
        subprocess.run([maven, "--quiet", "--file", pom, *options, "package"], check=True)
    elif not jar.exists():
        sys.exit(f"A wheel contains {jar.name}, which a JDK and Maven build: there is no mvn.")


setup(cmdclass={"build_py": BuildWithJar})
