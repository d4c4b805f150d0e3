"""Our few Java classes, compiled when the session opens.

Janino, which Spark carries for its own code generation, needs no JDK and takes 0.3 s; so the
wheel needs no jar and the classes always fit the Spark that runs them.
"""

import atexit
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyspark import SparkContext

SOURCES = ("Stores.java", "Courier.java", "Yard.java")


@dataclass(slots=True)
class _Loaded:
    """What one JVM has. py4j keeps methods by class name: a second loader would break its calls."""

    gateway: Any
    jar: str
    loader: Any
    application: str = ""  # the last whose executors were given the jar


_loaded: list[_Loaded] = []  # at most one: a process has one JVM at a time


def java_class(context: SparkContext, name: str) -> Any:
    """`causeway.<name>` as a java.lang.Class, known to the driver and to every executor."""
    gateway = context._gateway
    if not _loaded or _loaded[0].gateway is not gateway:
        _loaded[:] = [_load(gateway)]
    [loaded] = _loaded
    if loaded.application != context.applicationId:
        context._jsc.sc().addJar(loaded.jar)
        loaded.application = context.applicationId
    return loaded.loader.loadClass(f"causeway.{name}")


def new(context: SparkContext, name: str, *arguments: Any) -> Any:
    """An instance of `causeway.<name>`, made by its only constructor."""
    gateway: Any = context._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return java_class(context, name).getConstructors()[0].newInstance(array)


def _load(gateway: Any) -> _Loaded:
    jvm = gateway.jvm
    jar = _write_jar(_compile(gateway))
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(jar).toURI().toURL()
    return _Loaded(gateway, jar, jvm.java.net.URLClassLoader(urls, parent))


def _compile(gateway: Any) -> dict[str, bytes]:
    """Class file name to bytecode."""
    jvm = gateway.jvm
    resources = jvm.org.codehaus.commons.compiler.util.resource
    produced = jvm.java.util.HashMap()
    compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
    compiler.setClassFileCreator(resources.MapResourceCreator(produced))
    texts = gateway.new_array(resources.Resource, len(SOURCES))
    for place, name in enumerate(SOURCES):
        texts[place] = resources.StringResource(f"causeway/{name}", source(name))
    compiler.compile(texts)
    return {str(name): bytes(produced[name]) for name in produced}


@cache
def source(name: str) -> str:
    """The text of one of our Java sources."""
    return (files(__package__) / "java" / name).read_text(encoding="utf-8")


def _write_jar(classes: dict[str, bytes]) -> str:
    folder = tempfile.mkdtemp(prefix="causeway-")
    # Spark's file server reads it until the application ends.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = str(Path(folder) / "causeway-carrier.jar")
    with zipfile.ZipFile(path, "w") as jar:
        for name, body in classes.items():
            jar.writestr(name, body)
    return path
