"""A client of another database by Spark's JDBC: reads and loads tables, and runs statements."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from conf.secrets import SecretFile
from pipeline.errors import ActionFailed
from pipeline.falcon.entities.datasource import DatasourceInterface
from pipeline.lease import WorkLease

_JDBC = "org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions"


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """The database of a datasource's interface. Its texts and errors do not have the password."""

    session: SparkSession
    interface: DatasourceInterface
    password: str = field(repr=False)

    @classmethod
    def open(cls, session: SparkSession, interface: DatasourceInterface) -> "JdbcDatabase":
        """Loads the driver, and reads the password. Raises ActionFailed."""
        found = cls(session, interface, _password(interface))
        loader = session._jsparkSession.sessionState().resourceLoader()
        with found.errors():
            for jar in interface.driver.jars:
                loader.addJar(jar)
        return found

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raises ActionFailed for errors of Spark and of the driver, without the password."""
        try:
            yield
        except (PySparkException, Py4JError) as error:
            text = _reason(error)
            if self.password:
                text = text.replace(self.password, "***")
            raise ActionFailed(f"{self.interface.endpoint}: {text}") from None

    def options(self, table: str) -> dict[str, str]:
        """Spark's options for a table or sub-query."""
        credential = self.interface.credential
        login = {"user": credential.user, "password": self.password} if credential else {}
        return {
            **dict(self.interface.properties),
            **login,
            "url": self.interface.endpoint,
            "driver": self.interface.driver.name,
            "dbtable": table,
        }

    def read(self, table: str, **options: str) -> DataFrame:
        """The rows of a table or sub-query. Times without a zone are of type timestamp_ntz."""
        given = {**self.options(table), "preferTimestampNTZ": "true", **options}
        return self.session.read.format("jdbc").options(**given).load()

    def names(self, table: str) -> dict[str, str]:
        """The quoted names of a table's columns, by their names in lower case."""
        dialect = self._dialect()
        return {
            name.lower(): str(dialect.quoteIdentifier(name)) for name in self.read(table).columns
        }

    def _dialect(self) -> Any:
        jvm: Any = self.session._jvm
        return jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self.interface.endpoint)

    def load(self, rows: DataFrame, table: str) -> None:
        """Adds rows to a table."""
        rows.write.format("jdbc").options(**self.options(table)).mode("append").save()

    def execute(self, statements: Sequence[str], before_commit: Callable[[], None]) -> int:
        """Runs statements in one transaction; returns the number of changed rows. An error of
        `before_commit` rolls back.
        """
        jvm: Any = self.session._jvm
        options = jvm.java.util.HashMap()
        for key, value in self.options("none").items():
            options.put(key, value)
        parsed = getattr(jvm, _JDBC)(jvm.PythonUtils.toScalaMap(options))
        connection = self._dialect().createConnectionFactory(parsed).apply(-1)
        try:
            connection.setAutoCommit(False)
            statement = connection.createStatement()
            changed = sum(int(statement.executeUpdate(each)) for each in statements)
            before_commit()
            connection.commit()
            return changed
        except BaseException:
            with suppress(Py4JError):
                connection.rollback()
            raise
        finally:
            with suppress(Py4JError):
                connection.close()


@contextmanager
def stopped_on_loss(session: SparkSession, lease: WorkLease) -> Iterator[None]:
    """Cancels this thread's Spark jobs if the lease is lost."""
    group = f"causeway-{uuid4()}"
    context = session.sparkContext
    context.setJobGroup(group, "causeway exchange", interruptOnCancel=True)
    lease.on_loss(lambda: context.cancelJobGroup(group))
    try:
        yield
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _password(interface: DatasourceInterface) -> str:
    """The password in the credential's file; empty without a credential. Raises ActionFailed."""
    credential = interface.credential
    if credential is None:
        return ""
    path = unquote(urlsplit(credential.file).path)
    try:
        return SecretFile(Path(path)).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ActionFailed(f"passwordFile of user {credential.user}: {error}") from None


def _reason(error: Exception) -> str:
    """The first line of an error's innermost cause."""
    cause: Any = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.toString())
    return text.splitlines()[0] if text else type(error).__name__
