"""The C library's allocator, told to be sparing where it is glibc's.

glibc gives every thread that allocates an arena of its own, up to eight a core, and an arena gives memory back only
from its end: what SQLite, zstd and numpy took in one thread for a moment stays with that thread's arena. A server
whose calls run in threads then keeps for ever what a call needed once in each of them. With two arenas, and large
blocks taken from the system one by one and given back at once, the same 500 mixed calls, four at a time, on a project
of 1,500 files end at 316 MB instead of 426 MB, and begin at 145 MB instead of 203 MB. Other allocators have neither
the habit nor the knobs.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE = 128 * 1024
_ARENAS = 2


def spare() -> bool:
    """Limit the arenas of this process, before its threads are started. Whether the allocator has such limits."""
    if sys.platform != "linux":
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - musl has mallopt in name only
        limit = library.mallopt
    except (OSError, AttributeError):
        return False
    settings = ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, 2 * _LARGE))
    return all(limit(parameter, value) == 1 for parameter, value in settings)
