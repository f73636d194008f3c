"""Native code that threads enter side by side: in a process of its own, for what goes wrong there ends it."""

from __future__ import annotations

import subprocess
import sys

COMPRESSING = """
from concurrent.futures import ThreadPoolExecutor
from codecairn.store.file_version import compress, decompress
parts = [bytes(range(256)) * size for size in range(1, 200)]
def count_spoilt(_):
    return sum(decompress(compress(part)) != part for part in parts)
with ThreadPoolExecutor(4) as threads:
    print(sum(threads.map(count_spoilt, range(80))))
"""

PARSING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from codecairn.index.digest import digest_blob
sys.setswitchinterval(1e-4)
text = "".join(f"def f{n}(a):\\n    return g{n}(a, [x for x in a if x])\\n\\n\\n" for n in range(800)).encode()
def extracted(_):
    version = digest_blob("", "a.py", text).version
    return version.symbols, version.text, version.links
alone = extracted(0)
with ThreadPoolExecutor(4) as threads:
    print(sum(each != alone for each in threads.map(extracted, range(8))))
"""


def check_ends_well(program: str) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "0\n"), ended.stderr


def test_threads_that_compress_at_once_neither_end_the_process_nor_spoil_a_frame() -> None:
    check_ends_well(COMPRESSING)


def test_threads_that_parse_at_once_neither_end_the_process_nor_read_another_tree() -> None:
    check_ends_well(PARSING)
