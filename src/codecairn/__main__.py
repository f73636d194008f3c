import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the folder it was started in, most often a project: its own `http.py` is not the library's

from codecairn.cli import main

main()
