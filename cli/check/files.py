"""Checks of files and certificates of this machine."""

import os
import stat
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

from cryptography import x509

from cli.check import targets
from cli.check.report import CheckFinding, Level, error, ok, warning
from conf.secrets import exposure
from conf.server_certificate import served_certificate
from pipeline.scheduler.actions.catalog_service import load_catalog_service
from proxy.auth.build_authenticator import build_authenticator

_SOON = timedelta(days=30)  # warn if a certificate expires earlier


def secret(target: targets.Secret) -> CheckFinding:
    """Whether the file is readable by this user alone, and not empty. Raises OSError."""
    file = target.file
    if not file.read_bytes().strip():
        return error(f"{file} is empty")
    mode = stat.S_IMODE(file.path.stat().st_mode)
    return ok(f"{file} (mode {mode:04o})")


def settings_file(target: targets.SettingsFile) -> CheckFinding:
    """Whether other users can read the passwords in the settings file. Raises OSError."""
    status = target.file.path.stat()
    reason = exposure(status.st_uid, stat.S_IMODE(status.st_mode), os.geteuid())
    if not reason:
        return ok("no other user can read them")
    return ok(reason) if target.file.shared else warning(reason)


def authorities(target: targets.Authorities) -> CheckFinding:
    """Whether all certificates in the file are valid. Raises OSError, ValueError."""
    found = x509.load_pem_x509_certificates(target.path.read_bytes())
    first = min(each.not_valid_after_utc for each in found)
    finding = validity(min(each.not_valid_before_utc for each in found), first, _now())
    text = f"{target.path}: {len(found)} authorities; the first one {finding.text}"
    return ok(text) if finding.level is Level.OK else warning(text)


def certificate(target: targets.ServerCertificate) -> CheckFinding:
    """Whether the certificate fits its key, and when it expires. Raises BadCertificate."""
    found = served_certificate(target.tls)
    return validity(found.not_valid_before_utc, found.not_valid_after_utc, _now())


def validity(begins: datetime, ends: datetime, now: datetime) -> CheckFinding:
    """Whether a certificate is valid at `now`, and when it expires. Pure."""
    if now < begins:
        return error(f"not valid before {begins:%Y-%m-%dT%H:%MZ}")
    if now >= ends:
        return error(f"expired {(now - ends).days} days ago ({ends:%Y-%m-%d})")
    text = f"expires in {(ends - now).days} days ({ends:%Y-%m-%d})"
    return warning(text) if ends - now < _SOON else ok(text)


def written(target: targets.Written) -> CheckFinding:
    """Whether Causeway can write the file."""
    path = target.path
    return error(reason) if (reason := not_writable(path)) else ok(str(path))


def not_writable(path: Path) -> str:
    """Why this process cannot write the file; empty if it can."""
    folder = path.absolute().parent
    if path.is_dir():
        return f"{path} is a folder"
    if not folder.is_dir():
        return f"no such folder: {folder}"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"this user may not write {path if path.exists() else folder}"
    return ""


def authentication(target: targets.Authentication) -> CheckFinding:
    """Whether the files and code for authentication can be loaded. Raises BadSetting."""
    build_authenticator(target.identity)
    return ok(", ".join(sorted(each.value for each in target.identity.methods)))


def telemetry_libraries(target: targets.TelemetryLibraries) -> CheckFinding:
    """Whether the libraries of the telemetry extra are installed."""
    try:
        import_module("proxy.operations.telemetry_thread")
    except ModuleNotFoundError as missing:
        return error(f"{missing.name} is not installed: pip install 'causeway[telemetry]'")
    return ok("the libraries are installed")


def catalog_class(target: targets.CatalogClass) -> CheckFinding:
    """Whether the class can be loaded. Raises BadCatalogService."""
    load_catalog_service(target.name)
    return ok(f"{target.name} is installed")


def _now() -> datetime:
    return datetime.now(UTC)
