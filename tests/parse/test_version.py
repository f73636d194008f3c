"""The version of an extractor."""

from __future__ import annotations

import subprocess
import sys

from codecairn.parse.language import languages
from codecairn.parse.version import extractor_version


def test_each_language_has_its_own() -> None:
    assert len({extractor_version(each) for each in [*languages(), "markdown"]}) == len(languages()) + 1


def test_it_is_the_same_in_every_process() -> None:
    program = "from codecairn.parse.version import extractor_version as v; print(v('java'))"
    told = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert told == [extractor_version("java")] * 2
