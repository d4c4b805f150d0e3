"""Files with secrets for tests that are not about who can read them."""

from pathlib import Path

from conf.secrets import SecretFile


def private(path: Path, text: str) -> Path:
    """Writes a file that only its owner can read, as an operator has to."""
    path.touch()
    path.chmod(0o600)
    path.write_text(text)
    return path


def readable(path: Path) -> SecretFile:
    """The file as a secret, also if other users can read it."""
    return SecretFile(path, shared=True)
