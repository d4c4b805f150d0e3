"""Settings of the data that is sent to OpenTelemetry and OpenLineage."""

from dataclasses import dataclass

from conf.kinds import HTTP_URL, SECRET_PATH, TEXT
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, setting


# fmt: off
@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """The receivers. Without a URL nothing is sent to one."""

    traces: str | None = setting("telemetry.otlp.url", HTTP_URL, "", RESTART,
        "Where the spans of statements, copies and instances are sent by OTLP over HTTP"
        " ([traces](../guide/monitor.md#traces)): the full URL, such as"
        " `http://127.0.0.1:4318/v1/traces`.")
    lineage: str | None = setting("telemetry.openlineage.url", HTTP_URL, "", RESTART,
        "The OpenLineage server that gets the tables that statements, copies and processes read and"
        " wrote ([lineage](../guide/monitor.md#lineage)), such as `http://127.0.0.1:5000`.")
    token: SecretFile | None = setting("telemetry.openlineage.token.file",
        SECRET_PATH, "", RESTART, "A file with the token for the OpenLineage server.")
    namespace: str = setting("telemetry.openlineage.namespace", TEXT, "causeway", RESTART,
        "The namespace of OpenLineage's jobs.")
