"""What files say of themselves, and what manifests say of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.context.build_files import manifests
from codecairn.context.summaries import first_paragraph, opening
from codecairn.paths import Guard


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        ("python", '"""Counts ships. And more."""\nimport os\n', "Counts ships."),
        ("python", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n'''Counts\nships.'''\n", "Counts ships."),
        ("python", "# Copyright 2024\n# SPDX-License-Identifier: MIT\n\n# Counts ships.\nimport os\n", "Counts ships."),
        ("python", "import os\n\n# not about the file\n", ""),
        ("go", "// Copyright 2024\n\n// Package tide reckons tides.\npackage tide\n", "Package tide reckons tides."),
        ("rust", "//! Shipping.\n\npub fn f() {}\n", "Shipping."),
        ("java", "/*\n * Copyright X\n */\n/**\n * Reckons tides.\n */\nclass A {}\n", "Reckons tides."),
        ("typescript", "/** The cart. */\nexport {}\n", "The cart."),
        ("javascript", "'use strict';\n", ""),
        ("lua", "-- Reckons tides.\nlocal x = 1\n", "Reckons tides."),
        ("python", "", ""),
        ("markdown", "# Title\n\n[![build](a)](b)\n\nIt counts [ships](x) that pass.\n", "It counts ships that pass."),
        ("rst", "=====\nTitle\n=====\n\n.. image:: x\n\nIt counts the ships.\n", "It counts the ships."),
    ],
)  # fmt: skip
def test_a_file_is_told_by_its_first_words(language: str, text: str, said: str) -> None:
    assert opening(text, language) == said


def test_a_readme_that_holds_a_secret_is_masked() -> None:
    assert "ghp_abcdefghijklmnopqrstuvwxyz" not in first_paragraph(
        "Use token: ghp_abcdefghijklmnopqrstuvwxyz012345 for it."
    )


MANIFESTS = {
    "pyproject.toml": """\
[project]
requires-python = ">=3.11"
dependencies = ["a>=1"]
[tool.ruff]
[project.scripts]
x = "m:f"
""",
    "package.json": """\
{"engines": {"node": ">=20"}, "dependencies": {"left": "1"}, "scripts": {"test": "vitest"}, "bin": {"c": "./c.js"}}
""",
    "go.mod": """\
module example.org/x

go 1.22

require (
	golang.org/x/net v0.1.0
	golang.org/x/y v0.1.0 // indirect
)
""",
    "Cargo.toml": '[package]\nname = "x"\nedition = "2021"\n[dependencies]\nserde = "1"\n',
    "Makefile": "VAR := 1\ntest: build\n\ttrue\n.PHONY: test\nbuild:\n\ttrue\n",
    "tox.ini": "[testenv:py]\n[testenv:docs]\n",
    "Gemfile": "gem 'rails'\n",
}


def test_manifests_are_read_and_never_run(tmp_path: Path) -> None:
    for name, text in MANIFESTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {each.path: each for each in manifests(tmp_path, Guard(tmp_path))}
    assert found["pyproject.toml"].facts == ("Python >=3.11", "tools: ruff")
    assert found["pyproject.toml"].dependencies == ("a",)
    assert found["pyproject.toml"].entries == ("x → m:f",)
    assert found["package.json"].commands == ("npm run test: vitest",)
    assert found["package.json"].entries == ("c → ./c.js",)
    assert found["go.mod"].dependencies == ("golang.org/x/net",)
    assert found["Cargo.toml"].facts == ("edition 2021",)
    assert found["Makefile"].commands == ("make test", "make build")
    assert found["tox.ini"].commands == ("tox -e py", "tox -e docs")
    assert found["Gemfile"].dependencies == ("rails",)


@pytest.mark.parametrize(
    "text", ["", "[", "\x00", "[project]\nscripts = 5\n", "[project]\ndependencies = {a = 1}\n", "[" * 3000]
)
@pytest.mark.parametrize("name", ["pyproject.toml", "package.json", "Cargo.toml", "composer.json", "go.mod"])
def test_a_broken_manifest_costs_only_itself(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "Makefile").write_text("test:\n", encoding="utf-8")
    assert manifests(tmp_path, Guard(tmp_path))[-1].commands == ("make test",)


def test_a_manifest_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text('[project]\nrequires-python = ">=3.11"\n', encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "pyproject.toml").symlink_to(tmp_path / "outside.toml")
    assert manifests(tmp_path / "in", Guard(tmp_path / "in")) == []
