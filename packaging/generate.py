"""Writes what registries, marketplaces and one-click installers want to know, from clients.toml and pyproject.toml.

python packaging/generate.py                      write the files of this folder anew
python packaging/generate.py --bundle FILE.mcpb   pack the bundle that Claude Desktop installs
"""

from __future__ import annotations

import base64
import json
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from codecairn import __version__
from codecairn.clients import KnownClient, known_clients
from codecairn.setup.plan import GUIDE

HERE = Path(__file__).parent
ROOT = HERE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REGISTRY_NAME = "io.github.codecairn/cairn"
LINE = ["uvx", "codecairn", "serve"]
ABOUT = {"version": __version__, "description": PROJECT["description"]}
AUTHOR = {"name": PROJECT["authors"][0]["name"]}
LOCAL = {"command": LINE[0], "args": LINE[1:]}
SKILL = (
    "Finds code, symbols, references, history and project rules with Cairn. Use it before reading whole files, before "
    "changing a symbol, and to gather the context of a task."
)


def server() -> dict[str, Any]:
    """For the MCP registry; the README carries its name as `mcp-name`."""
    package = {
        "registryType": "pypi", "identifier": PROJECT["name"], "version": __version__, "runtimeHint": "uvx",
        "transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "serve"}],
        "environmentVariables": [
            {"name": "CAIRN_ROOT", "description": "The project to serve (default: the folder it is started in)"}
        ],
    }  # fmt: skip
    schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    return {"$schema": schema, "name": REGISTRY_NAME, "title": "Cairn", **ABOUT, "packages": [package]}


def bundle_manifest() -> dict[str, Any]:
    command = ["run", "--no-dev", "--directory", "${__dirname}", "cairn", "serve", "--root", "${user_config.project}"]
    return {
        "manifest_version": "0.4", "name": "cairn", "display_name": "Cairn", **ABOUT, "author": AUTHOR,
        "license": PROJECT["license"], "keywords": PROJECT["keywords"],
        "server": {
            "type": "uv", "entry_point": "src/codecairn/__main__.py", "mcp_config": {"command": "uv", "args": command},
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "project": {
                "type": "directory", "title": "Project", "description": "The repository to answer about",
                "required": True,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"], "runtimes": {"python": PROJECT["requires-python"]},
        },
    }  # fmt: skip


def plugin() -> dict[str, Any]:
    more = {"author": AUTHOR, "license": PROJECT["license"], "keywords": PROJECT["keywords"]}
    return {"name": "cairn", **ABOUT, **more, "mcpServers": {"cairn": LOCAL}}


def marketplace() -> dict[str, Any]:
    entry = {"name": "cairn", "source": "./", "description": PROJECT["description"]}
    return {"name": "cairn", "owner": AUTHOR, "description": "Cairn, from its repository", "plugins": [entry]}


def extension() -> dict[str, Any]:
    return {"name": "cairn", **ABOUT, "mcpServers": {"cairn": LOCAL}, "contextFileName": "GEMINI.md"}


def link(client: KnownClient) -> str:
    words = {"$command": LINE[0], "$args": LINE[1:]}
    entry = json.dumps({name: words.get(value, value) for name, value in client.local.items()}, separators=(",", ":"))
    return client.link.format(config=quote(entry, safe=""), base64=base64.b64encode(entry.encode()).decode())


def links() -> str:
    rows = [f"- [Install in {each.title}]({link(each)})" for each in known_clients().values() if each.link]
    return "\n".join(["# Install links", "", "Each runs `" + " ".join(LINE) + "`, which needs uv.", "", *rows, ""])


def files() -> dict[str, str]:
    values = {
        "server.json": server(),
        "mcpb/manifest.json": bundle_manifest(),
        "claude-code/.claude-plugin/plugin.json": plugin(),
        "claude-code/.claude-plugin/marketplace.json": marketplace(),
        "gemini/gemini-extension.json": extension(),
    }
    texts = {name: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for name, value in values.items()}
    texts["claude-code/skills/cairn/SKILL.md"] = f"---\nname: cairn\ndescription: {SKILL}\n---\n\n{GUIDE}\n"
    texts["gemini/GEMINI.md"] = f"{GUIDE}\n"
    texts["links.md"] = links()
    return texts


def bundle(target: Path) -> None:
    """Pack the source with its manifest; uv installs what it needs when the client first starts it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = [path for path in sorted((ROOT / "src").rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", files()["mcpb/manifest.json"])
        for path in [*(ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE")), *sources]:
            archive.write(path, path.relative_to(ROOT).as_posix())


def main() -> None:
    if sys.argv[1:2] == ["--bundle"]:
        bundle(Path(sys.argv[2]))
        return
    for name, text in files().items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
