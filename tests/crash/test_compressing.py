"""Threads that compress side by side: in a process of their own, for what goes wrong there ends it."""

from __future__ import annotations

import subprocess
import sys

TOGETHER = """
from concurrent.futures import ThreadPoolExecutor
from codecairn.store.version import packed, unpacked
parts = [bytes(range(256)) * size for size in range(1, 200)]
def count_spoilt(_):
    return sum(unpacked(packed(part)) != part for part in parts)
with ThreadPoolExecutor(4) as threads:
    print(sum(threads.map(count_spoilt, range(80))))
"""


def test_threads_that_compress_at_once_neither_end_the_process_nor_spoil_a_frame() -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", TOGETHER]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "0\n"), ended.stderr
