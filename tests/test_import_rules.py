"""Arrows point one way: pages → figures, jobs → curves, knn, learners → certificates, attacks → neighbors → metric."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = [  # a part may import its own layer and the ones above it in this list
    {"numerics", "errors", "progress", "device", "home", "npz", "untrusted", "atomic_write"},
    {"vocabulary"},
    {"metric", "threat", "datasets"},
    {"neighbors", "checks", "radii"},
    {"certificates", "attacks", "switching"},
    {
        "cross_fitting",
        "curves",
        "knn",
        "learners",
        "model_file",
        "neural",
        "questions",
        "references",
        "report",
        "warm_up",
    },
    {"figures", "jobs", "results", "comparison"},
    {"reproduce"},
    {"cli", "__main__", "__init__"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
NEVER = {  # peers that must not know each other
    ("metric", "threat"),
    ("threat", "metric"),
    ("metric", "datasets"),
    ("threat", "datasets"),
    ("datasets", "metric"),
    ("datasets", "threat"),
    ("certificates", "attacks"),
    ("learners", "knn"),
    ("knn", "learners"),
    ("knn", "references"),
    ("learners", "references"),
    ("references", "knn"),
    ("figures", "jobs"),
    ("figures", "results"),
    ("figures", "comparison"),
    ("jobs", "figures"),
}


@pytest.mark.release
def test_the_map_of_the_engine_is_complete():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = {path.name for path in (ROOT / "arml_core").iterdir() if not path.name.startswith("__")}
    listed = {f"{part}{'' if part.endswith('.py') else '/'}" for part in parts}
    assert {name for name in listed if f"`{name}`" not in text} == set()


@pytest.mark.release
def test_the_roads_of_the_map_lead_somewhere():
    """Each `file:function` of the map is there; a bare file name stands beside the one named before it."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    stops = re.findall(r"`([\w/]+\.py):([\w.]+)`", text)
    assert len(stops) > 20
    folder = ROOT
    for file, name in stops:
        path = ROOT / file if "/" in file else folder / file
        folder = path.parent
        defined, tree = name.split("."), ast.parse(path.read_text(encoding="utf-8"))
        for part in defined:
            found = [node for node in tree.body if getattr(node, "name", None) == part]
            assert found, f"{file} has no {name}"
            tree = found[0]


@cache
def imports(path: Path) -> set[str]:
    """Every module a file imports, relative ones resolved, also those inside functions."""
    package = path.relative_to(ROOT).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def part_of(module: str) -> str | None:
    """The part of the engine a dotted name belongs to; None for the package's own names and other packages."""
    names = module.split(".")
    is_part = names[0] == "arml_core" and len(names) > 1
    known = is_part and any((ROOT / "arml_core" / f"{names[1]}{end}").exists() for end in ("", ".py"))
    return names[1] if known else None


ENGINE = sorted((ROOT / "arml_core").rglob("*.py"))
PAGES = sorted([*(ROOT / "pages").rglob("*.py"), *ROOT.glob("app.py")])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def packages(path: Path) -> set[str]:
    return {module.split(".")[0] for module in imports(path)}


def test_the_engine_imports_only_downwards():
    wrong = []
    for path in ENGINE:
        own = path.relative_to(ROOT / "arml_core").parts[0].removesuffix(".py")
        assert own in LEVEL, f"{own} has no layer yet: give it one in LAYERS"
        for module in imports(path):
            other = part_of(module)
            if other is None or other == own:
                continue
            if LEVEL[other] > LEVEL[own]:
                wrong.append(f"{name_of(path)} imports {module}, which lies above it")
            if (own, other) in NEVER:
                wrong.append(f"{name_of(path)} imports {module}: these two must not know each other")
    assert wrong == []


def test_the_engine_knows_no_page_and_no_test():
    never = {"streamlit", "pages", "app", "tests", "benchmarks", "pickle"}
    drawn = {path: never if "figures" in path.parts else never | {"plotly"} for path in ENGINE}
    assert {name_of(path): packages(path) & names for path, names in drawn.items() if packages(path) & names} == {}


def test_pages_hold_no_maths_and_no_sql():
    never = {"torch", "scipy", "sklearn", "sqlite3", "metric_learn", "pickle"}
    assert {name_of(path): packages(path) & never for path in PAGES if packages(path) & never} == {}


def page_of(module: str) -> str | None:
    """The page whose folder a dotted name lies in; None for what pages share, and for everything else."""
    names = module.split(".")
    in_folder = names[:2] == ["pages", "components"] and (ROOT / "pages" / "components" / "/".join(names[2:3])).is_dir()
    return names[2] if in_folder and len(names) > 2 else None


def test_a_page_does_not_know_the_parts_of_another():
    """What two pages need lies in `pages/components/`, which knows no page."""
    wrong = []
    for path in PAGES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        own = page_of(".".join(parts)) or (parts[1] if parts[0] == "pages" and len(parts) == 2 else None)
        wrong += [(name_of(path), module) for module in imports(path) if page_of(module) not in (None, own)]
    assert wrong == []


SQL = re.compile(r"SELECT |INSERT |UPDATE \w+ SET|DELETE FROM|PRAGMA |sqlite3")


def test_all_sql_is_in_the_folder_of_the_store():
    """Tests may look behind the store; nothing else does."""
    store = ROOT / "arml_core" / "jobs" / "store"
    others = [*ENGINE, *PAGES, *sorted((ROOT / "benchmarks").rglob("*.py"))]
    holding = [name_of(path) for path in others if SQL.search(path.read_text(encoding="utf-8"))]
    assert [name for name in holding if store not in (ROOT / name).parents] == []
    assert holding  # else the expression finds nothing anywhere


def test_certificates_and_attacks_know_neither_the_classifier_nor_the_learners():
    for path in ENGINE:
        if path.relative_to(ROOT / "arml_core").parts[0] in ("certificates", "attacks"):
            assert not {part_of(module) for module in imports(path)} & {"knn", "learners", "datasets", "curves"}


def test_only_numerics_computes_with_the_unit_roundoff():
    """Elsewhere whole bounds are taken from there: an error bound that is written twice will differ one day."""
    bare = re.compile(r"arml_core\.numerics\.(\w+\.)*(gamma|UNIT_ROUNDOFF)")
    elsewhere = [path for path in ENGINE if "numerics" not in path.parts]
    assert [name_of(path) for path in elsewhere if any(map(bare.fullmatch, imports(path)))] == []


def test_no_module_needs_what_only_some_systems_have():
    """The project is declared for macOS and Windows, too: such a module may only be imported inside a function."""
    for path in [*ENGINE, *PAGES]:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [
            line for line in lines if re.match(r"(import|from) (fcntl|resource|pwd|grp|termios|msvcrt)\b", line)
        ]


def test_importing_the_engine_loads_no_dashboard():
    """What the files say, checked at run time, third-party imports included."""
    code = "import sys, arml_core; print(sorted({'streamlit', 'plotly', 'metric_learn', 'pytest'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted([*(ROOT / "pages").glob("*.py"), *ROOT.glob("app.py")]), ids=name_of)
def test_a_script_loads_everything_before_it_imports_anything(path):
    """`pages/components/loading.py` says why; Streamlit runs a page that is opened directly without `app.py`."""
    first = next(node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom))
    assert ast.unparse(first) == "import pages.components.loading"


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=name_of)
def test_every_measurement_can_be_started(path):
    """Nothing else imports them, so a name that moved would go unnoticed."""
    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
