"""Every dependency is pinned, used, explained, and has the licence that the page about them says."""

import ast
import re
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("requirements.txt", "requirements-dask.txt", "requirements-dev.txt")
PAGE = (ROOT / "docs" / "DEPENDENCIES.md").read_text(encoding="utf-8")
RUN = {"mypy", "ruff", "pandas-stubs", "dask", "pytest-xdist"}
"""Run by the Makefile, read or loaded by what it runs, or pinned with a package that is made of it; not imported."""
LONG_WINDED = {"scipy": "BSD-3-Clause", "foolbox": "MIT", "numba": "BSD-2-Clause"}
"""Packages whose metadata spell the licence out, or leave open which version of it, instead of naming it."""


def pinned(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    wanted = [line.partition("#")[0].strip() for line in lines]
    return [line for line in wanted if line and not line.startswith("-r ")]


REQUIREMENTS = [(name, line) for name in FILES for line in pinned(name)]


@cache
def modules_in(*folders):
    """Top-level modules that the Python files of some folders import; reading them all takes seconds."""
    found = set()
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
                found.add(ast.literal_eval(node.args[0]).partition(".")[0])
    return found


@cache
def owners_of_modules():
    """Module → the packages that bring it, by their plain names; asking takes half a second."""
    found = packages_distributions().items()
    return {module: {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} for module, owners in found}


USERS = {
    "requirements.txt": ("arml_core", "pages"),
    "requirements-dask.txt": ("arml_core",),
    "requirements-dev.txt": ("tests", "benchmarks"),
}
"""The folders that each file's packages are for."""


def rows():
    """Package → the cells of its row."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in cells if row[0] not in ("package", "file")}


@pytest.mark.release
@pytest.mark.parametrize(("name", "line"), REQUIREMENTS, ids=[line for _, line in REQUIREMENTS])
class TestRequirement:
    def test_it_is_pinned_to_one_version_and_that_is_installed(self, name, line):
        package, version = re.fullmatch(r"([a-z0-9-]+)==([0-9.]+)", line).groups()
        assert distribution(package).version.partition("+")[0] == version

    def test_it_is_used_where_it_is_required(self, name, line):
        package = line.partition("==")[0]
        if package in RUN:
            return
        modules = {module for module, owners in owners_of_modules().items() if package in owners}
        assert modules & modules_in(*USERS[name])

    def test_the_page_says_why_it_is_here_and_under_which_licence(self, name, line):
        package = line.partition("==")[0]
        why, licence, kept = rows()[package]
        assert why
        assert kept
        metadata = distribution(package).metadata
        declared = metadata.get("License-Expression") or metadata.get("License")
        assert licence == LONG_WINDED.get(package, declared)


@pytest.mark.release
def test_the_page_names_nothing_else():
    packages = {line.partition("==")[0] for _, line in REQUIREMENTS}
    assert {name for name in rows() if not name.startswith("`")} == packages


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_nothing_is_imported_that_is_not_required(name):
    """What merely came along with another package may be gone with its next release."""
    required = {
        line.partition("==")[0] for file, line in REQUIREMENTS if name != "requirements.txt" or file != FILES[2]
    }
    owners = owners_of_modules()
    foreign = {module for module in modules_in(*USERS[name]) if module in owners}
    assert {module for module in foreign if not required & owners[module]} == set()
