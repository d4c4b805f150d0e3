"""Files with secrets for tests that are not about who can read them."""

from pathlib import Path

from conf.secrets import SecretFile


def private(path: Path, text: str) -> Path:
    """The file with this text, which nobody else can read, as an operator has to make it."""
    path.touch()
    path.chmod(0o600)
    path.write_text(text)
    return path


def readable(path: Path) -> SecretFile:
    """The file, whoever else can read it."""
    return SecretFile(path, shared=True)
