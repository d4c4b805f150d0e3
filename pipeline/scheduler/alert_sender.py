"""Delivers the store's alerts by webhook and mail, and notifications of entities by mail.

An alert is written in the transaction of its change and deleted after its delivery, so the death of
a server does not lose it, and only one server delivers it. It is delivered again if the answer to a
delivery is lost.
"""

import json
import smtplib
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from email.message import EmailMessage

from conf.secrets import SecretFile
from conf.settings.lifecycle import MailTls
from conf.topology import Endpoint
from database.errors import StoreUnavailable
from pipeline.scheduler.alerts import MAILTO, as_json, body, subject
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.store.schema import Alert
from pipeline.scheduler.store.store import Store

Deliver = Callable[[Sequence[Alert]], None]
Emit = Callable[[Mapping[str, object]], None]

MOST = 100  # alerts in one delivery
_TIMEOUT = 10.0  # seconds of a delivery
_RETRY = 60.0  # seconds until the next attempt
_LIFETIME = timedelta(days=1)  # after which an alert is deleted without delivery


def webhook(url: str) -> Deliver:
    """Delivers by an HTTP POST of `{"alerts": [..]}`. Raises OSError for every answer but 2xx."""

    def deliver(alerts: Sequence[Alert]) -> None:
        data = json.dumps({"alerts": [as_json(each) for each in alerts]}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers, method="POST")
        with urllib.request.urlopen(request, timeout=_TIMEOUT):
            pass

    return deliver


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server. The file of `password` is read for each mail; None: without a log-in."""

    endpoint: Endpoint
    tls: MailTls = MailTls.NONE
    user: str = ""
    password: SecretFile | None = None
    context: Callable[[], ssl.SSLContext] = field(default=ssl.create_default_context)

    @contextmanager
    def connected(self) -> Iterator[smtplib.SMTP]:
        """A session, encrypted and logged in as configured. Raises OSError."""
        host, port = self.endpoint.host, self.endpoint.port
        if self.tls is MailTls.TLS:
            opened: smtplib.SMTP = smtplib.SMTP_SSL(
                host, port, timeout=_TIMEOUT, context=self.context()
            )
        else:
            opened = smtplib.SMTP(host, port, timeout=_TIMEOUT)
        with opened as smtp:
            if self.tls is MailTls.STARTTLS:
                smtp.starttls(context=self.context())
            if self.password is not None:
                smtp.login(self.user, self.password.read_text().strip())
            yield smtp


def mail(server: MailServer, sender: str, to: Sequence[str], prefix: str = "causeway") -> Deliver:
    """Delivers by one mail, whose subject begins with `prefix`. Raises OSError (the base class of
    SMTPException).
    """

    def deliver(alerts: Sequence[Alert]) -> None:
        message = EmailMessage()
        message["From"], message["To"] = sender, ", ".join(to)
        message["Subject"] = " ".join(subject(alerts, prefix).split())
        message.set_content(body(alerts))
        with server.connected() as smtp:
            smtp.send_message(message)

    return deliver


class AlertSender:
    """A thread that delivers alerts while the context is open, and once more at its end."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        channels: Mapping[str, Deliver],
        emit: Emit,
        poll: float = 5.0,
        notify: Callable[[Sequence[str]], Deliver] | None = None,
    ) -> None:
        """`notify` returns the delivery of notifications to mail addresses; None: notifications are
        not delivered.
        """
        self._store = store
        self._clock = clock
        self._channels = channels
        self._emit = emit
        self._poll = poll
        self._notify = notify
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)

    def __enter__(self) -> "AlertSender":
        if self._channels or self._notify:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._channels or self._notify:
            self._thread.join()
            self.deliver_all()

    def _run(self) -> None:
        while not self._stop.wait(self._poll):
            self.deliver_all()

    def _all_channels(self) -> dict[str, Deliver]:
        """The channels of alerts, and those of the notifications in the store."""
        channels = dict(self._channels)
        if self._notify is not None:
            with suppress(StoreUnavailable):
                for name in self._store.channels_with(MAILTO):
                    channels[name] = self._notify(name.removeprefix(MAILTO).split(","))
        return channels

    def deliver_all(self) -> None:
        """Delivers the alerts that are due. A failed delivery is repeated after a minute, for a
        day.
        """
        for name, deliver in self._all_channels().items():
            try:
                while alerts := self._store.take_alerts(name, _RETRY, MOST):
                    deliver(alerts)
                    self._store.delete_alerts([each.id for each in alerts])
            except (OSError, StoreUnavailable) as error:
                self._emit({"event": "alerts not delivered", "to": name, "message": str(error)})
        try:
            given_up = self._store.delete_alerts_before(self._clock.now() - _LIFETIME)
        except StoreUnavailable:
            return
        if given_up:
            self._emit({"event": "alerts given up", "number": given_up})
