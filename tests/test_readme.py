"""The README: its Python runs as printed, its commands exist, its variables are the ones that are read."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from arml_core.cli import build_parser

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, flags=re.DOTALL)
COMMANDS = [
    line.split(" #")[0].strip()
    for language, block in BLOCKS
    if language == ""
    for line in block.splitlines()
    if line.startswith("python -m arml_core ")
]
LARGEST_IMAGE = 150_000


def test_the_python_runs_as_printed() -> None:
    (code,) = [block for language, block in BLOCKS if language == "python"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert "certified" in printed.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_is_understood(command: str) -> None:
    assert build_parser().parse_args(shlex.split(command)[3:]).run


def test_every_make_target_is_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^)(?:\w+=\S+ )*make ([\w-]+)", TEXT, flags=re.MULTILINE))
    assert {"app", "test"} < named <= targets


@pytest.mark.release
def test_the_table_of_variables_is_complete() -> None:
    documented = set(re.findall(r"^\| `(ARML_\w+)`", TEXT, flags=re.MULTILINE))
    sources = [path for part in ("arml_core", "pages", "tests/browser") for path in (ROOT / part).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r'"(ARML_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    assert documented == read


@pytest.mark.release
def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"\((docs/images/[\w-]+\.\w+)\)", TEXT)
    assert pictures
    for picture in pictures:
        assert 0 < (ROOT / picture).stat().st_size < LARGEST_IMAGE
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == {Path(name).name for name in pictures}


@pytest.mark.release
@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))])
def test_every_link_leads_somewhere(page: str) -> None:
    """Links inside the project only: the dashboard needs no internet, and neither do its pages of text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in headings], (
                link
            )
