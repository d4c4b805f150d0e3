"""Runs Java programs of the tests, which call the jar's classes. Janino, one of Spark's jars,
compiles them."""

from pathlib import Path

from cli.stack.java import find_java
from tests.class_archive import class_path

_FOLDER = Path(__file__).parent / "java"


def command(jar: Path, program: str) -> list[str]:
    """Returns the command that runs the program of that name with the jar and Spark's jars."""
    path = class_path(jar)
    java = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"]
    source = str(_FOLDER / f"{program}.java")
    return [*java, "-cp", path, "org.codehaus.janino.SimpleCompiler", source, program]
