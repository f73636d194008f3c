"""The first words on stdio, said before anything heavy is imported.

Importing the SDK and the tools takes most of a second. Until they are there a `Greeter` reads the lines: it answers an
ordinary `initialize`, and a `tools/list` after it, from what the door itself once rendered (`greeting.json`), and keeps
the rest for the door. A line that is in any way unusual is kept too, so there is one judge of such lines.

`python -m tests.support.greeting` renders the file anew, and a test compares it with the answers of the door.
"""
