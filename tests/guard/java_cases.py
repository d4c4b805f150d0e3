"""Java programs beside the tests, which call the jar's classes. Janino, which Spark brings,
compiles and runs them."""

import os
from pathlib import Path

from cli.stack.java import find_java
from cli.stack.stack import spark_home

_FOLDER = Path(__file__).parent / "java"


def command(jar: Path, program: str) -> list[str]:
    """The command that runs the program of that name with the jar and Spark's."""
    path = os.pathsep.join((str(jar), f"{spark_home() / 'jars'}/*"))
    java = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"]
    source = str(_FOLDER / f"{program}.java")
    return [*java, "-cp", path, "org.codehaus.janino.SimpleCompiler", source, program]
