from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = """
import site, sys
folder, checkout = sys.argv[1:]
site.addsitedir(folder)
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
    assert {"gradviz/view/static/widget.js", "gradviz/view/static/widget.css"} <= names(wheel)


def test_wheel_carries_the_lessons(wheel: Path) -> None:
    lessons = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert lessons
    packed = {name for name in names(wheel) if name.startswith("gradviz/_lessons/")}
    assert packed == {f"gradviz/_lessons/{name}" for name in lessons | {"lesson_tools.py"}}


def test_wheel_carries_every_module_and_is_typed(wheel: Path) -> None:
    watch = {"gradviz/_watch.py"}  # travels as the top-level module _gradviz_kit_watch
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "gradviz").rglob("*.py")} - watch
    assert modules | {"gradviz/py.typed", "_gradviz_kit_watch.py"} <= names(wheel)


def test_wheel_has_nothing_but_the_package_and_the_watch(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert tops - info == {"gradviz", "_gradviz_kit_watch.py", "gradviz_kit_watch.pth"}


def test_unpacked_wheel_imports_from_where_it_lies(site: Path) -> None:
    done = run(site, "import gradviz; print(gradviz.__file__)")
    assert done.stdout.strip() == str(site / "gradviz" / "__init__.py"), done.stderr
    assert done.stderr == ""


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
    assert "lacks widget.js, widget.css: run `make build`" in done.stderr + done.stdout


def test_a_namesake_installed_first_is_named_when_ours_is_imported(site: Path) -> None:
    ours = (site / "gradviz" / "__init__.py").read_text()
    add_namesake(site)
    (site / "gradviz" / "__init__.py").write_text(ours)
    done = run(site, "import gradviz; gradviz.snapshot")
    assert done.returncode == 0, done.stderr
    assert "another project called gradviz (0.1.2) is installed" in done.stderr
    assert "pip uninstall gradviz gradviz-kit" in done.stderr


def test_a_namesake_installed_last_is_named_when_it_is_imported(site: Path) -> None:
    add_namesake(site)
    done = run(site, "import gradviz; print(gradviz.answer)")
    assert done.stdout.strip() == "42", done.stderr
    assert f"does not give you gradviz-kit, but {site}" in done.stderr
    assert "pip uninstall gradviz gradviz-kit" in done.stderr


def test_uninstalling_the_namesake_leaves_a_clear_message(site: Path) -> None:
    (site / "gradviz" / "__init__.py").unlink()
    done = run(site, "import gradviz")
    assert "gradviz-kit is damaged" in done.stderr
    assert "pip install --force-reinstall gradviz-kit" in done.stderr


def test_python_starts_quietly_with_the_watch(site: Path) -> None:
    done = run(site, "print(any(type(f).__name__ == 'Watch' for f in sys.meta_path))")
    assert (done.stdout.strip(), done.stderr) == ("True", "")
