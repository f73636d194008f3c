"""A name that stands in a string, a comment, a heredoc or a pattern is no use of what has the name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from codecairn.parse.language import languages
from codecairn.resolve.rules import rules_of
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import Asking, asking, index

# Each has one use of `target` in code, on a line that says USE; in every other line below the definition it is text.
FILES = {
    "long.lua": """local function target() end
exec([[
  call target(1)
]])
exec([==[ ]] target() ]==])
--[[ target()
target() ]]
--[==[ ]] target() ]==]
target() -- USE
""",
    "raw.cpp": """#include <target.h>
void target() {}
const char *a = R"(" target(); ")";
const char *b = R"x(
  )" target();
)x";
const char *c = "one \\
  target() two";
int main() { target(); /* USE */ }
""",
    "Verbatim.cs": '''class Verbatim {
  static void target() {}
  string a = @"select ""target"" from
    target() where";
  string b = """
    "target()"
    """;
  void Use() { target(); /* USE */ }
}
''',
    "Block.java": '''class Block {
  static void target() {}
  String a = """
      target(); "target()"
      """;
  void use() { target(); /* USE */ }
}
''',
    "nested.kt": '''fun target() {}
/* outer /* inner */ target() */
val a = """
  target() "quoted"
"""
val b = "${if (x) "target()" else "other target()"} target()"
fun use() { target() /* USE */ }
''',
    "nested.scala": '''object Nested {
  def target(): Unit = ()
  /* outer /* inner */ target() */
  val a = """
    target() "quoted" """
  def use(): Unit = { target() /* USE */ }
}
''',
    "nested.swift": '''func target() {}
/* outer /* inner */ target() */
let a = """
  target() "quoted"
  """
let b = #"a "quoted" target()"#
func use() { target() /* USE */ }
''',
    "heredoc.php": """<?php
function target() {}
$a = <<<EOT
  it's target()
  EOT;
$b = <<<'RAW'
  target()
RAW;
$c = "one
  target()";
target(); // USE
""",
    "heredoc.rb": """def target; end
=begin
target
=end
a = <<~SQL
  it's target
SQL
b = %w[one target]
c = text.match?(/it's target/)
d = %r/target/
target() # USE
""",
    "heredoc.sh": """target() { :; }
cat <<EOT
it's target here
EOT
awk '
  target
' file
target # USE
""",
    "raw.rs": """fn target() {}
/* outer /* inner */ target() */
const A: &str = r#"a "quoted" target()"#;
const B: &str = "one \\
  target() two";
fn main() { target(); /* USE */ }
""",
    "gap.hs": """module Gap where
target :: Int -> Int
target x = x
{- outer {- inner -} target 1 -}
a = "one \\
  \\target 2 two"
use = target 3 -- USE
""",
    "template.ts": """function target() {}
const a = `one ${`two ${three} target()`} target()`;
const b = (text) => /it's `target/.test(text);
const c = [
  /it's "target/,
];
target(); // USE
""",
    "sigil.ex": """defmodule Sigil do
  def target(), do: 1
  @words ~w(one
    target)
  @text "#{inspect("target")} target"
  def use(), do: target() # USE
end
""",
    "triple.py": """def target(): ...
a = '''
it's target()
'''
b = "one \\
  target()"
target()  # USE
""",
}
"""By file name."""
_DEFINITIONS = {"gap.hs": (2, 3)}
"""Lines that are the definition's own, where it is not the first line with the name in code."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("texts")
    repo = Repo.create(folder / "repo")
    for name, text in FILES.items():
        repo.write(f"{name.replace('.', '_')}/{name}", text)
    repo.commit("texts")
    opened = asking(index(repo.path, folder / "home", lasting))
    yield opened
    opened.close()


@pytest.mark.requirement("004/find_references/account")
@pytest.mark.parametrize("name", FILES)
def test_only_code_is_a_use(name: str, texts: Asking) -> None:
    path, rows = f"{name.replace('.', '_')}/{name}", FILES[name].split("\n")
    use = next(number for number, row in enumerate(rows, 1) if "USE" in row)
    line = next(number for number, row in enumerate(rows, 1) if "target" in row and "include" not in row)
    line = _DEFINITIONS.get(name, (line,))[-1]
    found = texts.answer("find_references", symbol_name="target", path=path, line=line, include_unresolved=True)
    assert not found.is_error, found.text
    listed = [*found.value["references"], *found.value["unresolved"]]
    told = {row["line_start"] for row in listed if row["path"] == path}
    assert told - set(_DEFINITIONS.get(name, ())) == {use}, found.text


@pytest.mark.parametrize("language", sorted(languages()))
def test_text_begins_with_a_letter_of_its_own(language: str) -> None:
    """An expression that begins with a look behind, a class or an optional letter is tried at every letter of a file:
    Ruby's files took 18 ms for 100 kB to blank so, and take 0.5."""
    for pattern in rules_of(language).rules.opaque:
        assert re.match(r"(?:\\\W|\\n|[^\\(\[|.])(?![*?{])", pattern), pattern
