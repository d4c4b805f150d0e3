"""Adds causeway-guard.jar to a wheel. pyproject.toml has everything else.

Maven builds the jar first. Without Maven a jar that was built before is taken; without both there
is no wheel, since `causeway up`, copies and the guard need the jar.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
JAR = ROOT / "guard" / "target" / "causeway-guard.jar"
PACKAGE = Path("pipeline", "spark")


class BuildWithJar(build_py):
    """An editable installation takes the jar from guard/target, so nothing is built for it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            _build_jar()
            target = Path(self.build_lib, PACKAGE, JAR.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(JAR, target)


def _build_jar() -> None:
    maven = shutil.which("mvn")
    if maven is not None:
        pom = str(ROOT / "guard" / "pom.xml")
        subprocess.run([maven, "--quiet", "--file", pom, "package"], check=True)
    elif not JAR.exists():
        sys.exit(f"A wheel contains {JAR.name}, which a JDK and Maven build: there is no mvn.")


setup(cmdclass={"build_py": BuildWithJar})
