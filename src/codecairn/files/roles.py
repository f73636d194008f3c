"""The part a file plays, told by its path."""

from __future__ import annotations

import re
from typing import Literal

from codecairn.beside import PROSE, place_of
from codecairn.source.walk import is_test

Role = Literal["entry", "core", "test", "config", "docs"]

_DOCS = re.compile(r"(^|/)(docs?|documentation)/|(^|/)(readme|licen[cs]e|copying|changelog|authors|notice)[^/]*$", re.I)
_CONFIG = re.compile(
    r"\.(toml|ya?ml|json|json5|jsonc|ini|cfg|conf|config|properties|lock|plist|editorconfig|tf|tfvars|gradle|cmake|mk)$"
    r"|(^|/)(dockerfile|makefile|gnumakefile|rakefile|gemfile|procfile|jenkinsfile|justfile|vagrantfile|brewfile"
    r"|go\.(mod|sum|work)|requirements[^/]*\.txt|setup\.py|conftest\.py|settings\.py|build\.rs|pom\.xml"
    r"|cmakelists\.txt|gradlew|\.[^/]*(rc|ignore|attributes|modules))$"
    r"|\.config\.[cm]?[jt]sx?$|(^|/)\.(github|gitlab|circleci|vscode|ci|devcontainer)/",
    re.I,
)
_ENTRY = re.compile(
    r"(^|/)(__main__|main|manage|wsgi|asgi|cli)\.py$|(^|/)main\.(go|rs|c|cc|cpp|cxx|swift|kt|zig|dart|hs|ts|js|mjs|rb|lua)$"
    r"|(^|/)src/bin/[^/]+\.rs$|^(src/)?(lib\.rs|(index|server|app|cli)\.([cm]?[jt]sx?|py|php|rb))$"
    r"|(^|/)(program\.cs|main\.(java|scala)|[^/]*application\.(java|kt))$|(^|/)bin/[^/.]+$",
    re.I,
)


def role_of(path: str, language: str) -> Role:
    if is_test(path) or place_of(path, language) == "test":
        return "test"
    if _CONFIG.search(path):
        return "config"
    if _DOCS.search(path) or language in PROSE - {"text"}:
        return "docs"
    return "entry" if _ENTRY.search(path) else "core"
