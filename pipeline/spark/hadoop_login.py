"""The log-in to file systems of Hadoop that require Kerberos.

Hadoop has one log-in for a JVM, so one principal reaches all file systems. The session's settings
`spark.kerberos.principal` and `spark.kerberos.keytab` name it. A local session logs in here. With
another master Spark uses these settings too, and sends delegation tokens to the executors.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError

from conf.settings.security.metastore_login import MetastoreLogin
from pipeline.errors import KerberosFailed
from saslauth.gssapi_library import own_name

PRINCIPAL, KEYTAB = "spark.kerberos.principal", "spark.kerberos.keytab"
_FILESYSTEMS = "spark.kerberos.access.hadoopFileSystems"
_RENEWAL = "spark.hadoop.hadoop.kerberos.keytab.login.autorenewal.enabled"
_AUTHENTICATION = "hadoop.security.authentication"
# Hadoop reads these once for a JVM, and not from the settings of a file system.
_JVM_KEYS = (
    _AUTHENTICATION, "hadoop.security.auth_to_local", "hadoop.security.token.service.use_ip",
)  # fmt: skip
_JVM_PREFIXES = ("hadoop.security.auth_to_local.", "hadoop.kerberos.")
# Java reports a missing password when a keytab has no keys of the principal.
_NO_PASSWORD, _NO_KEYS = "Unable to obtain password", "the keytab has no keys of this principal"
_LAUNCH_OPTIONS = "SPARK_SUBMIT_OPTS"


def session_settings(
    login: MetastoreLogin,
    filesystems: Iterable[str],
    endpoints: Mapping[str, Mapping[str, str]],
    given: Iterable[str],
) -> dict[str, str]:
    """Spark settings of a session that copies between these file systems. The settings `given`,
    each as `NAME=VALUE`, take precedence over those of the log-in.
    """
    settings = login_settings(login, filesystems) | jvm_settings(endpoints)
    return settings | dict(each.partition("=")[::2] for each in given)


def login_settings(login: MetastoreLogin, filesystems: Iterable[str] = ()) -> dict[str, str]:
    """Spark settings of a session that logs in with this keytab; none without one.

    `filesystems` are URIs. Spark gets delegation tokens for them where executors need them.
    """
    if login.keytab is None:
        return {}
    settings = {PRINCIPAL: own_name(login.user), KEYTAB: str(login.keytab), _RENEWAL: "true"}
    secured = sorted({each for each in filesystems if urlsplit(each).scheme == "hdfs"})
    return settings | ({_FILESYSTEMS: ",".join(secured)} if secured else {})


def jvm_settings(endpoints: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Spark settings with which a session's JVM uses Kerberos if an endpoint requires it.

    If several endpoints do, the rules for names are those of the first. `endpoints` are settings by
    authority, as `read_endpoints` returns them.
    """
    for settings in endpoints.values():
        if settings.get(_AUTHENTICATION, "").lower() == "kerberos":
            return {
                f"spark.hadoop.{key}": value
                for key, value in settings.items()
                if key in _JVM_KEYS or key.startswith(_JVM_PREFIXES)
            }
    return {}


def log_in(jvm: Any, principal: str, keytab: str) -> None:
    """Logs the JVM in, if its Hadoop uses Kerberos and it is not logged in yet. Hadoop renews the
    ticket. Raises KerberosFailed."""
    users = jvm.org.apache.hadoop.security.UserGroupInformation
    try:
        if not users.isSecurityEnabled():
            return
        known = users.isLoginKeytabBased() and users.getLoginUser().getUserName() == principal
        if not known:
            users.loginUserFromKeytab(principal, keytab)
    except Py4JError as error:
        raise KerberosFailed(
            f"no ticket for {principal} from {keytab}: {_reason(error)}"
        ) from error


@contextmanager
def realms_of_libkrb5() -> Iterator[None]:
    """Makes a JVM that is started in the block read the krb5.conf that KRB5_CONFIG names, as
    libkrb5 does.
    """
    file, options = os.environ.get("KRB5_CONFIG", ""), os.environ.get(_LAUNCH_OPTIONS)
    if not file or os.pathsep in file or "java.security.krb5.conf" in (options or ""):
        yield
        return
    option = f'"-Djava.security.krb5.conf={file}"'
    os.environ[_LAUNCH_OPTIONS] = f"{options} {option}" if options else option
    try:
        yield
    finally:
        if options is None:
            del os.environ[_LAUNCH_OPTIONS]
        else:
            os.environ[_LAUNCH_OPTIONS] = options


def _reason(error: Py4JError) -> str:
    if not isinstance(error, Py4JJavaError):
        return type(error).__name__
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = str(cause.getMessage())
    return _NO_KEYS if _NO_PASSWORD in message else message.splitlines()[0]
