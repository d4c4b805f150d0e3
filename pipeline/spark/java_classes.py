"""Loads the classes of causeway-guard.jar into a running Spark session: into its driver and all of
its executors. So the session needs no special settings.
"""

from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext

from pipeline.spark.jar import guard_jar


@dataclass(slots=True)
class _Loaded:
    """The jar in one JVM. py4j caches methods by class name, so a JVM needs a single loader."""

    gateway: Any
    loader: Any
    application: str = ""  # the last application whose executors received the jar


_loaded: list[_Loaded] = []  # at most one, because a process has one JVM at a time


def java_class(context: SparkContext, name: str) -> Any:
    """The class `causeway.<name>` as a java.lang.Class. Raises JarMissing."""
    gateway = context._gateway
    if not _loaded or _loaded[0].gateway is not gateway:
        _loaded[:] = [_Loaded(gateway, _load(gateway))]
    [loaded] = _loaded
    if loaded.application != context.applicationId:
        context._jsc.sc().addJar(str(guard_jar()))
        loaded.application = context.applicationId
    return loaded.loader.loadClass(f"causeway.{name}")


def new(context: SparkContext, name: str, *arguments: Any) -> Any:
    """An instance of `causeway.<name>`, made by its only constructor. Raises JarMissing."""
    gateway: Any = context._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    return java_class(context, name).getConstructors()[0].newInstance(array)


def _load(gateway: Any) -> Any:
    """A class loader for the jar. Its parent is Spark's, which has the jar too in a guarded
    session.
    """
    jvm = gateway.jvm
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(guard_jar())).toURI().toURL()
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.net.URLClassLoader(urls, parent)
