"""Java programs beside the tests, which call the jar's classes. Janino, which Spark brings,
compiles and runs them."""

from pathlib import Path

from cli.stack.java import find_java
from tests.class_archive import class_path

_FOLDER = Path(__file__).parent / "java"


def command(jar: Path, program: str) -> list[str]:
    """The command that runs the program of that name with the jar and Spark's."""
    path = class_path(jar)
    java = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"]
    source = str(_FOLDER / f"{program}.java")
    return [*java, "-cp", path, "org.codehaus.janino.SimpleCompiler", source, program]
