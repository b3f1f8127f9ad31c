from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

from gradviz.course.copies import notebooks_in

ROOT = Path(__file__).parents[1]
SITE = """
import sys
folder, checkout = sys.argv[1:]
sys.path[:] = [folder, *(path for path in sys.path if path != checkout)]
"""
NAMESAKE = {
    "gradviz/__init__.py": "answer = 42\n",
    "gradviz-0.1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: gradviz\nVersion: 0.1.2\n",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("gradviz_kit-*.whl")
    return built


@pytest.fixture
def site(wheel: Path, tmp_path: Path) -> Path:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    return tmp_path


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def add_namesake(site: Path) -> None:
    for name, text in NAMESAKE.items():
        path = site / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def run(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code as if the folder were the site-packages of an environment without this checkout."""
    return subprocess.run(
        [sys.executable, "-c", SITE + code, str(site), str(ROOT)],
        capture_output=True,
        text=True,
        cwd=site.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        check=False,
    )


def test_wheel_carries_the_front_end(wheel: Path) -> None:
    built = {path.relative_to(ROOT) for path in (ROOT / "gradviz/view/static").iterdir()}
    assert {path.as_posix() for path in built} <= names(wheel)


def test_wheel_carries_the_templates_of_pages_and_slides(wheel: Path) -> None:
    templates = "gradviz/publish/templates/gradviz_"
    assert {f"{templates}{kind}/index.html.j2" for kind in ("page", "slides")} <= names(wheel)
    assert {f"{templates}{kind}/conf.json" for kind in ("page", "slides")} <= names(wheel)


def test_wheel_carries_the_lessons(wheel: Path) -> None:
    folder = ROOT / "notebooks"
    lessons = {path.relative_to(folder).as_posix() for path in notebooks_in(folder)}
    assert lessons > {"00-start.ipynb", "howto/one-cell-is-an-exercise.ipynb"}
    packed = {name for name in names(wheel) if name.startswith("gradviz/_lessons/")}
    assert packed == {f"gradviz/_lessons/{name}" for name in lessons}


DELIVER = """
from pathlib import Path
from gradviz.course.copies import installed_lessons
from gradviz.course.delivery import deliver
print(*deliver(installed_lessons(), Path(folder, "learner")).added)
"""


def test_unpacked_wheel_delivers_its_own_lessons(site: Path) -> None:
    done = run(site, DELIVER)
    folder = ROOT / "notebooks"
    wanted = [path.relative_to(folder).as_posix() for path in notebooks_in(folder)]
    assert done.stdout.split() == wanted
    assert done.stderr == ""


def test_wheel_carries_every_module_and_is_typed(wheel: Path) -> None:
    modules = {
        str(path.relative_to(ROOT))
        for package in ("gradviz", "gradviz_pytest", "gradviz_run")
        for path in (ROOT / package).rglob("*.py")
    }
    assert modules | {"gradviz/py.typed"} <= names(wheel)


def test_wheel_has_nothing_but_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert tops - info == {"gradviz", "gradviz_pytest", "gradviz_run"}


def test_unpacked_wheel_imports_from_where_it_lies(site: Path) -> None:
    done = run(site, "import gradviz; print(gradviz.__file__)")
    assert done.stdout.strip() == str(site / "gradviz" / "__init__.py"), done.stderr
    assert done.stderr == ""


@pytest.fixture
def metadata(wheel: Path) -> Message:
    (name,) = (name for name in names(wheel) if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(zipfile.ZipFile(wheel).read(name))


@pytest.fixture(scope="module")
def hatch_build() -> ModuleType:
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paths_in(page: str) -> list[str]:
    """Where links and pictures lead that are no addresses."""
    targets = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", page)
    return [path for pair in targets for path in pair if path and not path.startswith("https://")]


def code_blocks(page: str) -> list[str]:
    return re.findall(r"^```.*?^```", page, re.DOTALL | re.MULTILINE)


README = (ROOT / "README.md").read_text("utf-8")


def test_the_package_page_has_the_readme_without_a_path_that_leads_nowhere(
    metadata: Message,
) -> None:
    page = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# gradviz\n")
    assert paths_in(README)
    assert paths_in(page) == []


def test_with_an_address_picture_and_links_of_the_package_page_lead_into_the_repository(
    hatch_build: ModuleType,
) -> None:
    page = hatch_build.for_package_page(README, "https://example.org/us/gradviz")
    assert paths_in(page) == []
    assert '<img src="https://example.org/us/gradviz/raw/main/README.svg" alt="A cell' in page
    assert "[`notebooks/`](https://example.org/us/gradviz/blob/main/notebooks)" in page
    assert len(page.splitlines()) == len(README.splitlines())


@pytest.mark.parametrize("repository", ["", "https://example.org/us/gradviz"])
def test_the_package_page_changes_no_code(hatch_build: ModuleType, repository: str) -> None:
    blocks = code_blocks(README)
    assert blocks
    assert code_blocks(hatch_build.for_package_page(README, repository)) == blocks


def test_the_metadata_leads_to_the_repository_by_its_one_address(
    hatch_build: ModuleType, metadata: Message
) -> None:
    tomllib = pytest.importorskip("tomllib")
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]
    address = hooks["hooks"]["custom"]["repository"]
    told = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert told == hatch_build.urls(address)
    assert hatch_build.urls("https://example.org/g")["Issues"] == "https://example.org/g/issues"


def test_build_without_the_front_end_fails_and_names_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "gradviz").mkdir()
    version = (ROOT / "gradviz" / "_distribution.py").read_bytes()
    (tmp_path / "gradviz" / "_distribution.py").write_bytes(version)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    lacks = "lacks widget.js, widget.css, page.js, page.css, deck.js, deck.css: run `make build`"
    assert lacks in done.stderr + done.stdout


def test_a_namesake_installed_first_is_named_when_ours_is_imported(site: Path) -> None:
    ours = (site / "gradviz" / "__init__.py").read_text()
    add_namesake(site)
    (site / "gradviz" / "__init__.py").write_text(ours)
    done = run(site, "import gradviz; gradviz.snapshot")
    assert done.returncode == 0, done.stderr
    assert "another project called gradviz (0.1.2) is installed" in done.stderr
    assert "pip uninstall gradviz gradviz-kit" in done.stderr
