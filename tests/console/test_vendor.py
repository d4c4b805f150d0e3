"""Scripts of others are those of their packages; nothing is read from another site."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from console.rendering import FOLDER

VENDOR = FOLDER / "static" / "vendor"
_ROW = re.compile(r"^(\S+\.(?:js|css))\s+(\S+)\s+(\S+)\s+(\S+)\s+([0-9a-f]{64})$", re.M)


@pytest.mark.parametrize("folder", [VENDOR, Path(__file__).parent / "vendor"])
def test_every_vendored_file_has_its_hash_and_its_licence(folder: Path) -> None:
    rows = {row[0]: row for row in _ROW.findall((folder / "README").read_text())}
    files = [each for each in folder.iterdir() if each.suffix in (".js", ".css")]
    assert {each.name for each in files} == set(rows)
    for each in files:
        assert sha256(each.read_bytes()).hexdigest() == rows[each.name][4]
        assert (folder / f"{each.name.partition('.')[0]}.LICENSE").exists()


def test_pages_have_no_inline_script_or_style_and_name_no_other_site() -> None:
    for template in (FOLDER / "templates").iterdir():
        text = template.read_text()
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), template.name
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), template.name
        assert not re.search(r"(?:src|href|action)=[\"']?(?:https?:)?//", text), template.name
