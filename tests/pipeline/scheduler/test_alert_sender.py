"""Each alert is delivered once by each channel, also after failures and by several servers."""

import base64
import json
import smtplib
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from conf.settings.lifecycle import MailTls
from conf.topology import Endpoint
from pipeline.scheduler.alert_sender import AlertSender, MailServer, mail, webhook
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.schema import Alert
from pipeline.scheduler.store.store import Store
from tests import secret_files
from tests.pipeline.falcon.documents import PROCESS
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    FIRST,
    PROCESS_KEY,
    START,
    FakeActions,
    schedule,
    store_with_entities,
)
from tests.proxy import certificates

Events = list[Mapping[str, object]]


@contextmanager
def listener(status: int) -> Iterator[tuple[str, list[dict[str, object]]]]:
    received: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failed(
    url: str | Path, *channels: str, process: str = PROCESS, notifies: bool = False
) -> Store:
    """A store in which one process has failed for good, over several rounds."""
    store = store_with_entities(url, process=process)
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.fail = lambda _: "broken"
    for _ in range(6):
        with SchedulerServer(
            store,
            actions,
            clock,
            "one",
            SchedulerOptions(),
            alert_channels=channels,
            notifies=notifies,
        ) as server:
            server.until_idle(30)
        clock.move(timedelta(minutes=9))
        if store.instances(PROCESS_KEY)[0].attempt == 4:
            break
        clock.move(timedelta(minutes=31))
    return store


def test_a_failure_is_delivered_once_by_each_channel(url: str) -> None:
    store = failed(url, "webhook", "mail")
    mailed: list[Sequence[Alert]] = []
    events: Events = []
    with listener(200) as (address, received):
        channels = {"webhook": webhook(address), "mail": mailed.append}
        senders = [AlertSender(store, SetClock(FIRST), channels, events.append) for _ in range(2)]
        for sender in (*senders, *senders):
            sender.deliver_all()
    (post,) = received
    (alert,) = post["alerts"]  # type: ignore[misc]
    assert (alert["alert"], alert["name"]) == ("failed", "summary")
    assert "broken" in alert["message"]
    assert [[each.what for each in alerts] for alerts in mailed] == [["failed"]]
    assert events == []


@pytest.mark.parametrize(
    ("level", "ends"), [("instance", ["failed"]), ("attempt", ["retried"] * 3 + ["failed"])]
)
def test_a_process_notifies_its_own_addresses_of_failures(
    url: str, level: str, ends: list[str]
) -> None:
    store = failed(url, "mail", process=notifying(level), notifies=True)
    mailed: list[tuple[str, str]] = []

    def notify(to: Sequence[str]) -> Callable[[Sequence[Alert]], None]:
        def deliver(alerts: Sequence[Alert]) -> None:
            first = (each for each in alerts if each.instance.nominal == FIRST)
            mailed.extend((",".join(to), each.what) for each in first)

        return deliver

    sender = AlertSender(store, SetClock(FIRST), {}, lambda _: None, notify=notify)
    sender.deliver_all()
    sender.deliver_all()
    assert mailed == [("ann@x,bob@y", what) for what in ends]
    assert [each.what for each in store.take_alerts("mail", 60, 9)] == ["failed"]


def test_a_success_is_a_notification_and_no_alert(tmp_path: Path) -> None:
    store = store_with_entities(tmp_path / "l.db", process=notifying("instance"))
    schedule(store, PROCESS_KEY, FIRST)
    for notifies in (False, True):
        clock = SetClock(FIRST if not notifies else FIRST + timedelta(hours=1))
        with SchedulerServer(
            store,
            FakeActions(),
            clock,
            "one",
            SchedulerOptions(),
            alert_channels=["mail"],
            notifies=notifies,
        ) as server:
            server.until_idle(30)
    (channel,) = store.channels_with("mailto:")
    assert [each.what for each in store.take_alerts(channel, 60, 9)] == ["succeeded"]
    assert store.take_alerts("mail", 60, 9) == ()


def notifying(level: str) -> str:
    element = f'<notification type="email" to="ann@x, nobody, bob@y" level="{level}"/>'
    return PROCESS.replace("</process>", f"{element}</process>")


@pytest.mark.slow
def test_a_failed_delivery_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, events = failed(tmp_path / "l.db", "webhook"), Events()
    with listener(500) as (address, received):
        sender = AlertSender(store, SetClock(FIRST), {"webhook": webhook(address)}, events.append)
        sender.deliver_all()
        sender.deliver_all()  # not before the pause is over
        assert len(received) == 1
    assert [each["event"] for each in events] == ["alerts not delivered"]
    with listener(204) as (address, received):
        late = AlertSender(store, SetClock(FIRST), {"webhook": webhook(address)}, events.append)
        assert store.take_alerts("webhook", -1, 10) == ()
        store_time_passes(store)
        late.deliver_all()
        assert len(received) == 1


def store_time_passes(store: Store) -> None:
    """Ends the pause of alerts that were not delivered."""
    from sqlalchemy import update

    from pipeline.scheduler.store.schema import alerts

    with store._database.transaction() as connection:
        connection.execute(update(alerts).values(claimed=None))


def test_alerts_that_cannot_be_delivered_for_a_day_are_deleted(tmp_path: Path) -> None:
    store, events = failed(tmp_path / "l.db", "webhook"), Events()

    def refuse(alerts: Sequence[Alert]) -> None:
        raise OSError("refused")

    later = SetClock(FIRST + timedelta(days=2))
    AlertSender(store, later, {"webhook": refuse}, events.append).deliver_all()
    assert [each["event"] for each in events] == ["alerts not delivered", "alerts given up"]
    store_time_passes(store)
    assert store.take_alerts("webhook", 60, 10) == ()


def test_late_data_and_missed_service_levels_are_delivered_once(tmp_path: Path) -> None:
    store = store_with_entities(tmp_path / "l.db")
    schedule(store, FEED_KEY)
    actions, clock = FakeActions(), SetClock(START + timedelta(hours=3))
    actions.absent = {START}
    for _ in range(3):
        with SchedulerServer(
            store, actions, clock, "one", SchedulerOptions(), alert_channels=["mail"]
        ) as server:
            server.until_idle(30)
    found = store.take_alerts("mail", 60, 100)
    assert [each.what for each in found] == ["SLA"]


def test_without_channels_no_alerts_are_stored(tmp_path: Path) -> None:
    assert failed(tmp_path / "l.db").take_alerts("webhook", 60, 10) == ()


def test_a_mail_has_all_alerts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[EmailMessage] = []

    class Smtp:
        def __init__(self, host: str, port: int, timeout: float) -> None:
            assert (host, port) == ("mail.example", 25)

        def __enter__(self) -> "Smtp":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def send_message(self, message: EmailMessage) -> None:
            sent.append(message)

    monkeypatch.setattr(smtplib, "SMTP", Smtp)
    server = MailServer(Endpoint("mail.example", 25))
    deliver = mail(server, "from@example", ["a@example", "b@example"])
    store = failed(tmp_path / "l.db", "mail")
    with AlertSender(store, SetClock(FIRST), {"mail": deliver}, print, poll=60):
        pass  # what is left is delivered at the end
    (message,) = sent
    assert message["To"] == "a@example, b@example"
    assert "failed" in message["Subject"]
    assert "broken" in message.get_content()


class SmtpHandler(socketserver.StreamRequestHandler):
    """An SMTP server that takes mail only over TLS and after the login of `ann`."""

    server: "SmtpServer"

    def handle(self) -> None:
        secure = logged_in = False
        if self.server.tls is MailTls.TLS:
            self.encrypt()
            secure = True
        self.answer("220 ready")
        while line := self.rfile.readline().decode().strip():
            match line.split(" ")[0].upper():
                case "EHLO":
                    offer = "AUTH PLAIN" if secure else "STARTTLS"
                    self.answer(f"250-here\r\n250 {offer}")
                case "STARTTLS":
                    self.answer("220 go")
                    self.encrypt()
                    secure = True
                case "AUTH":
                    login = base64.b64decode(line.split(" ")[2]).split(b"\0")[1:]
                    logged_in = secure and login == [b"ann", b"s3cret"]
                    self.answer("235 welcome" if logged_in else "535 wrong")
                case "DATA":
                    self.answer("354 text")
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    self.server.mails.append(text.decode())
                    self.answer("250 taken")
                case "QUIT":
                    self.answer("221 bye")
                    return
                case _:
                    self.answer("250 fine" if logged_in else "530 log in first")

    def answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def encrypt(self) -> None:
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()


class SmtpServer(socketserver.ThreadingTCPServer):
    def __init__(self, tls: MailTls, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), SmtpHandler)
        self.tls, self.context, self.mails = tls, context, list[str]()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that ends early is no error here."""


@pytest.mark.parametrize("tls", [MailTls.STARTTLS, MailTls.TLS])
def test_mail_is_encrypted_and_logs_in(tmp_path: Path, tls: MailTls) -> None:
    certificate = certificates.made()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem(tmp_path / "server.pem"))
    password = secret_files.private(tmp_path / "password", "s3cret\n")
    store = failed(tmp_path / "l.db", "mail")
    (alert,) = store.take_alerts("mail", 60, 10)
    with SmtpServer(tls, context) as smtp:
        thread = threading.Thread(target=smtp.serve_forever)
        thread.start()
        try:
            endpoint, secret = Endpoint(*smtp.server_address), secret_files.readable(password)  # type: ignore[misc]
            trusted = MailServer(endpoint, tls, "ann", secret, certificate.trusting)
            mail(trusted, "from@example", ["a@example"])([alert])
            assert len(smtp.mails) == 1
            assert "broken" in smtp.mails[0]
            stranger = MailServer(endpoint, tls, "ann", secret)
            with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
                mail(stranger, "from@example", ["a@example"])([alert])
            password.write_text("guess")
            with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
                mail(trusted, "from@example", ["a@example"])([alert])
            assert "guess" not in str(refused.value)
            assert len(smtp.mails) == 1
        finally:
            smtp.shutdown()
            thread.join()
