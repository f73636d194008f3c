"""The wheel: what is in it, what it says of itself, and that it serves."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import codecairn
from codecairn.parse.language import languages
from tests.support.wire import ServerProcess

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "codecairn"


def declared() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def python(*arguments: str, folder: Path, **environment: str) -> str:
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    python(
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(target),
        str(ROOT),
        folder=target,
    )
    (built,) = target.glob("*.whl")
    return built


def test_there_is_one_version(wheel: Path) -> None:
    assert "version" not in declared()
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", codecairn.__version__)
    assert wheel.name == f"codecairn-{codecairn.__version__}-py3-none-any.whl"
    written = [
        path for path in SOURCE.rglob("*.py") if f'"{codecairn.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert written == [SOURCE / "__init__.py"]


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    tree = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    expected = {name for name in tree if "__pycache__" not in name}
    info = f"codecairn-{codecairn.__version__}.dist-info"
    beside = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert "codecairn/py.typed" in expected
    with zipfile.ZipFile(wheel) as archive:
        assert set(archive.namelist()) == expected | {f"{info}/{name}" for name in beside}


def test_the_wheel_unpacked_serves_over_stdio(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    python("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel), folder=tmp_path)
    asked = "import codecairn; print(codecairn.__file__)"
    assert Path(python("-c", asked, folder=tmp_path, PYTHONPATH=str(target)).strip()).is_relative_to(target)
    with ServerProcess(folder=tmp_path, PYTHONPATH=str(target)) as server:
        told = server.initialize()["result"]["serverInfo"]
        assert (told["name"], told["version"]) == ("codecairn", codecairn.__version__)
        assert server.close() == 0


def top_level_imports() -> set[str]:
    nodes = [node for path in SOURCE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in plain | named} - sys.stdlib_module_names - {"codecairn"}


def test_every_runtime_import_is_a_declared_dependency() -> None:
    dependencies = [*declared()["dependencies"], *declared()["optional-dependencies"]["team"]]
    names = {re.split(r"[<>=!~; \[]", each, maxsplit=1)[0].lower() for each in dependencies}
    owners = metadata.packages_distributions()
    grammars = {language.data.grammar.partition(":")[0] for language in languages().values()}
    needed = {owners[module][0].lower() for module in top_level_imports() | grammars}
    assert needed == names


def test_every_dependency_is_bounded_above() -> None:
    dependencies = declared()["dependencies"]
    assert isinstance(dependencies, list)
    assert [each for each in dependencies if "<" not in each or ">=" not in each] == []


def test_a_project_is_not_where_libraries_are_imported_from(tmp_path: Path) -> None:
    (tmp_path / "http.py").write_text("raise SystemExit('the project was imported')\n", encoding="utf-8")
    with ServerProcess(folder=tmp_path) as server:
        assert server.initialize()["result"]["serverInfo"]["name"] == "codecairn"
        assert server.close() == 0
    assert codecairn.__version__ in python("-m", "codecairn", "--version", folder=tmp_path)
