"""The files of packaging/ are those that its script writes, and say what they must."""

from __future__ import annotations

import base64
import importlib.util
import json
import zipfile
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

import pytest

import codecairn
from codecairn.clients import known_clients

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_current(generate: ModuleType) -> None:
    for name, text in generate.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: run make bundle"


def test_the_readme_names_the_server_of_the_registry(generate: ModuleType) -> None:
    server = generate.server()
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(server["description"]) <= 100
    assert server["version"] == server["packages"][0]["version"] == codecairn.__version__


def test_install_links_carry_the_entry(generate: ModuleType) -> None:
    clients = known_clients()
    cursor = parse_qs(urlsplit(generate.link(clients["cursor"])).query)["config"][0]
    assert json.loads(base64.b64decode(cursor)) == {"command": "uvx", "args": ["codecairn", "serve"]}
    vscode = parse_qs(urlsplit(generate.link(clients["vscode"])).query)["config"][0]
    assert json.loads(vscode)["type"] == "stdio"


def test_the_bundle_holds_the_manifest_and_the_source(generate: ModuleType, tmp_path: Path) -> None:
    generate.bundle(tmp_path / "cairn.mcpb")
    with zipfile.ZipFile(tmp_path / "cairn.mcpb") as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["version"] == codecairn.__version__
    assert manifest["server"]["entry_point"] in names
    assert {"pyproject.toml", "README.md", "LICENSE", "src/codecairn/clients.toml"} <= names
