"""What resolution must know of a language, as data: how it blanks text, what hides a name, what is seen without import.

In `blocks` and `parameters` the word NAME stands for the name that is looked for. A match of `blocks` is a variable
of the brackets or the function around it, of `parameters` one of the function whose head it stands in, of
`expressions` one of the rest of the brackets around it, and of `generics` a type parameter of the definition around
it. Keys are names that label a value (`call(NAME=1)`, `{NAME: 1}`) and mean no variable: `keys` is what follows them,
`key_brackets` the brackets they stand in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from codecairn.resolve.source import MARK

_QUOTED = r'"(?:\\.|[^"\\\n])*"'
_SINGLE = r"'(?:\\.|[^'\\\n])*'"
_CHARACTER = r"'(?:\\[^\n]{1,10}?|[^'\\\n])'"
_SLASHES = r"//[^\n]*|/\*[\s\S]*?\*/"
_HASH = r"\#[^\n]*"
_TEMPLATE = r"`(?:\\.|[^`\\])*`"
_EXPRESSION_LITERAL = (
    r"(?:(?<=[=(,:\[!&|?][ ])|(?<=[=(,:\[!&|?]))/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"
)
_NO_TYPE = (
    "return", "new", "as", "is", "not", "enum", "class", "struct", "interface", "record", "trait", "object", "else",
    "case", "throw", "in", "await", "yield", "goto", "delete", "extends", "implements", "instanceof", "namespace",
    "package", "import", "using",
)  # fmt: skip
_TYPE = r"[\w>\]?*&]" + "".join(rf"(?<!\b{word})" for word in _NO_TYPE) + r"\s+[*&]?"
"""The end of a type and the space before the name declared: words that stand before a name and declare none are not."""


@dataclass(frozen=True)
class Rules:
    opaque: str = rf"{_SLASHES}|{_QUOTED}|{_CHARACTER}"
    word: str = r"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
    selves: frozenset[str] = frozenset({"this", "self"})
    classes: frozenset[str] = frozenset()
    """Names for the type itself inside its methods."""
    supers: frozenset[str] = frozenset({"super"})
    sigils: str = "@#"
    """What a name may begin with, and is then another one; where `@` is a decorator's it is none."""
    separators: tuple[str, ...] = ("?.", "!.", "&.", "->", "::", ".")
    scopes: Literal["indent", "braces"] = "braces"
    blocks: tuple[str, ...] = (
        r"\b(?:var|let|val|const|final|auto|my|local|mut)\s+(?P<n>NAME)\b(?!\s*[\w<*&:])",
        rf"{_TYPE}(?P<n>NAME)\s*(?:=(?![=>])|;|:(?!:))",
        r"(?<![\w.])(?P<n>NAME)\s*:=",
    )
    parameters: tuple[str, ...] = (r"[(,]\s*(?P<n>NAME)\s*:(?!:)", rf"{_TYPE}(?P<n>NAME)\s*[,)]")
    taken_apart: tuple[str, ...] = ()
    """Parameters inside a pattern that takes an argument apart."""
    primitives: frozenset[str] = frozenset()
    """Types of the language itself that no definition of the name takes the place of."""
    expressions: tuple[str, ...] = (r"(?<![\w.])(?P<n>NAME)\s*[-=]>",)
    generics: tuple[str, ...] = ()
    head: str = ""
    """What stands before the bracket of a parameter list; nothing where any bracket may be one."""
    keys: str = r"\s*:(?!:)"
    key_brackets: str = "("
    implicit_members: bool = True
    shares: Literal["file", "folder", "package", "all"] = "package"
    """Whose top-level names are seen without an import."""
    imports: Literal["dotted", "path", "go", "crate", "package", "include", "none"] = "package"
    endings: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    splits_types: bool = False
    """A type and a value may share a name and are two things."""
    marks: str = ""
    """What stands before a name that marks a definition (`#[test]`) and is no function of that name."""
    attribute: str = ""
    """How the names of types end that may be left off in `[Name]`."""
    fields_apart: bool = False
    """A field and a method may share a name and are two things."""
    overrides_are_one: bool = False
    """References to a member are also those to what it overrides and what overrides it."""
    casts: frozenset[str] = frozenset()
    """Functions whose first argument is the type of what they give."""
    reach: int = 300
    """Bytes before a name in which its declaration begins."""
    guesses: bool = True
    """Where nothing is known of a receiver, the only member of a name is taken for the one meant."""
    narrowing: str = ""
    """How a test tells an expression's type: the groups are the expression and the type."""
    quoted: str = ""
    """What stands before a string that is a type."""
    wrappers: frozenset[str] = frozenset()
    """Generic types that stand for their (last) argument."""
    values: frozenset[str] = frozenset()
    """Generic types whose elements are of their last argument."""


_PYTHON = Rules(
    opaque=rf"(?:'''[\s\S]*?''')|(?:\"\"\"[\s\S]*?\"\"\")|{_QUOTED}|{_SINGLE}|{_HASH}",
    selves=frozenset({"self"}), classes=frozenset({"cls"}), scopes="indent", separators=(".",), sigils="",
    blocks=(
        r"^[ \t]*(?:[\w.\[\]]+[ \t]*,[ \t]*)*\(?\*?(?P<n>NAME)\b(?:[ \t]*,[ \t]*[*\w.\[\]]+)*,?\)?[ \t]*"
        r"(?::[^=\n]+)?=(?!=)",
        r"^[ \t]*(?P<n>NAME)[ \t]*:[^=\n]+$",
        r"\bfor[ \t]+(?:(?!\bin\b)[\w*(), \t])*?\b(?P<n>NAME)\b(?:(?!\bin\b)[\w*(), \t])*?\bin\b",
        r"(?<!import)\s[\w)\]}]+\s+as[ \t]+\(?(?P<n>NAME)\b",
        r"\bas[ \t]+\(?(?P<n>NAME)[ \t]*:",
        r"(?<![\w.])(?P<n>NAME)[ \t]*:=",
    ),
    parameters=(r"[(,]\s*\*{0,2}(?P<n>NAME)\s*[:,=)]",),
    expressions=(r"\blambda\b[^:\n]*?(?<![\w.])(?P<n>NAME)\b[^:\n]*?:",),
    head=r"\bdef\s+\w+\s*(?:\[[^\]]*\])?\s*$", keys=r"\s*=(?!=)", key_brackets="(",
    implicit_members=False, guesses=False, shares="file", imports="dotted", endings=(".py", ".pyi"),
    index=("__init__",),
    reach=60, casts=frozenset({"cast"}), narrowing=r"isinstance\(\s*([\w.]+)\s*,\s*([\w.]+)\s*\)",
    quoted=r"(?:\bcast\(\s*|\bbound\s*=\s*|:\s*|->\s*|[\[|,]\s*)",
    wrappers=frozenset({
        "Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "Awaitable", "ReadOnly",
    }),
    values=frozenset({
        "list", "List", "tuple", "Tuple", "set", "Set", "frozenset", "Sequence", "Iterable", "Iterator", "Generator",
        "Collection", "deque", "dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "AsyncIterator",
        "AsyncGenerator", "AsyncIterable", "MutableSequence", "OrderedDict", "ContextManager", "AbstractContextManager",
    }),
)  # fmt: skip

_SCRIPT = Rules(
    opaque=rf"{_SLASHES}|{_QUOTED}|{_SINGLE}|{_TEMPLATE}|{_EXPRESSION_LITERAL}",
    word=r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*", selves=frozenset({"this"}), separators=("?.", "!.", "."),
    sigils="#",
    blocks=(
        r"\b(?:const|let|var)\s+(?P<n>NAME)(?![\w$])",
        r"\b(?:const|let|var)\s*[\[{][^=;]*?(?<![\w$.])(?P<n>NAME)(?![\w$])\s*(?:=[^,}]*)?[,}\]]",
        r"\b(?:const|let|var)\s[^;\n(){}]*?,\s*(?P<n>NAME)\s*=(?![=>])",
        r"\bcatch\s*\(\s*(?P<n>NAME)\b",
    ),
    parameters=(
        r"[(,]\s*(?:\.\.\.)?(?:(?:public|private|protected|readonly|override)\s+)*(?P<n>NAME)\s*\??\s*:",
        r"[(,]\s*(?:\.\.\.)?(?P<n>NAME)\s*(?:,|\)|=(?![=>]))",
    ),
    taken_apart=(r"[{,]\s*(?:[\w$]+\s*:\s*)?(?:\.\.\.)?(?P<n>NAME)\s*(?:=[^,}]*)?[,}]",),
    expressions=(r"(?<![\w$.])(?<!: )(?<!\bis )(?<!\| )(?P<n>NAME)\s*=>",),
    primitives=frozenset({"bigint", "string", "number", "boolean", "symbol", "object", "undefined", "null"}),
    generics=(
        r"[<,]\s*(?:(?:const|in|out)\s+)*(?P<n>NAME)\s+extends\b",
        r"\b(?:class|interface|type|function)\s+[\w$]+\s*<(?:(?:[^<>;]|=>|<[^<>;]*>)*?,)?\s*(?:(?:const|in|out)\s+)*(?P<n>NAME)\s*[=,>]",
        r"\binfer\s+(?P<n>NAME)(?![\w$])",
        r"\[\s*(?P<n>NAME)\s+in\b",
    ),
    keys=r"\s*\??\s*:", key_brackets="{", implicit_members=False, guesses=False, shares="file", imports="path",
    endings=(".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"), index=("index",),
    splits_types=True, overrides_are_one=True, narrowing=r"(?<![\w$.])([\w$.]+)\s+instanceof\s+([\w$.]+)",
    wrappers=frozenset({"Promise", "Readonly", "Partial", "Required", "NonNullable", "Awaited", "PromiseLike"}),
    values=frozenset({"Array", "ReadonlyArray", "Set", "Map", "Iterable", "Iterator", "Record", "AsyncIterable"}),
)  # fmt: skip

_GO = Rules(
    opaque=rf"{_SLASHES}|{_QUOTED}|`[^`]*`|{_CHARACTER}", selves=frozenset(), supers=frozenset(), separators=(".",),
    blocks=(
        r"(?<![\w.])(?P<n>NAME)(?:\s*,\s*\w+)*\s*:=",
        r"\b(?:var|const)\s+(?:\w+\s*,\s*)*(?P<n>NAME)\b",
    ),
    parameters=(
        r"[(,]\s*(?P<n>NAME)\s+(?:\.\.\.)?[\w*\[\](<]",
        r"[(,]\s*(?P<n>NAME)\s*(?:,\s*\w+\s*)+\s+[\w*\[]",
    ),
    expressions=(), head=r"\bfunc\s*(?:\([^()]*\)\s*)?\w*\s*(?:\[[^\]]*\])?\s*(?:\([^()]*\)\s*)?$",
    keys=r"\s*:(?!=)", key_brackets="{", implicit_members=False, guesses=False, shares="folder", imports="go",
)  # fmt: skip

_RUST = Rules(
    opaque=rf"{_SLASHES}|r\#*\"[\s\S]*?\"\#*|\"(?:\\.|[^\"\\])*\"|{_CHARACTER}",
    classes=frozenset({"Self"}), supers=frozenset(), separators=("::", "."), marks="#[",
    blocks=(
        r"\blet\s+(?:mut\s+)?(?P<n>NAME)\b", r"\blet\s+[^=;]*?[(,]\s*(?:mut\s+|ref\s+)*(?P<n>NAME)\s*[,)][^=;]*=",
        r"\bfor\s+(?:\(?[^{;]*?\b)?(?P<n>NAME)\b[^{;]*?\bin\b",
        r"[(,]\s*(?:mut\s+|ref\s+|&)*(?P<n>NAME)\s*[,)][^;{}]*?=>?",
    ),
    parameters=(r"[(,]\s*(?:mut\s+|&)*(?P<n>NAME)\s*:(?!:)",),
    expressions=(r"\|[^|\n;{}]*?\b(?P<n>NAME)\b[^|\n;{}]*\|",),
    generics=(
        r"\b(?:impl|(?:fn|struct|enum|trait|type)\s+\w+)\s*<(?:(?:[^<>;]|->|<[^<>;]*>)*?,)?\s*(?:const\s+)?(?P<n>NAME)\s*[:,>=]",
    ),
    keys=r"\s*:(?!:)", key_brackets="{",
    guesses=False, implicit_members=False, shares="file", imports="crate", endings=(".rs",),
    index=("mod", "lib", "main"),
    wrappers=frozenset({"Option", "Result", "Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock", "Pin", "Cow"}),
    values=frozenset({"Vec", "HashMap", "BTreeMap", "HashSet", "VecDeque"}),
)  # fmt: skip

_HASHED = Rules(opaque=rf"{_HASH}|{_QUOTED}|{_SINGLE}", shares="all", imports="none")
_JAVA = Rules(
    fields_apart=True,
    guesses=False,
    sigils="",
    values=frozenset({"List", "Set", "Map", "Collection", "Iterable", "Optional", "Stream", "Iterator"}),
)

_OF: dict[str, Rules] = {
    "python": _PYTHON, "typescript": _SCRIPT, "tsx": _SCRIPT, "javascript": _SCRIPT, "go": _GO, "rust": _RUST,
    "java": _JAVA, "csharp": replace(_JAVA, attribute="Attribute"),
    "kotlin": replace(_JAVA, guesses=True), "scala": replace(_JAVA, guesses=True),
    "swift": Rules(shares="all"),
    "php": Rules(opaque=rf"{_SLASHES}|{_HASH}|{_QUOTED}|{_SINGLE}", classes=frozenset({"self", "static"}),
                 selves=frozenset({"$this", "this"}), supers=frozenset({"parent"}), implicit_members=False),
    "c": Rules(shares="all", imports="include"), "cpp": Rules(shares="all", imports="include"),
    "ruby": _HASHED, "elixir": _HASHED, "bash": _HASHED,
    "lua": Rules(opaque=rf"--[^\n]*|{_QUOTED}|{_SINGLE}", shares="all", imports="none"),
    "haskell": Rules(opaque=rf"--[^\n]*|\{{-[\s\S]*?-\}}|{_QUOTED}", shares="all", imports="none"),
}  # fmt: skip
_OTHERWISE = Rules(shares="all", imports="none")


@dataclass(frozen=True)
class Compiled:
    """A language's rules with what does not depend on a name compiled."""

    rules: Rules
    opaque: re.Pattern[str]
    word: re.Pattern[str]
    head: re.Pattern[str] | None
    keys: re.Pattern[str]
    narrowing: re.Pattern[str] | None
    before_quoted: re.Pattern[str]
    blocks: tuple[re.Pattern[str], ...]
    parameters: tuple[re.Pattern[str], ...]
    taken_apart: tuple[re.Pattern[str], ...]
    expressions: tuple[re.Pattern[str], ...]
    generics: tuple[re.Pattern[str], ...]


@cache
def rules_of(language: str) -> Compiled:
    rules = _OF.get(language, _OTHERWISE)
    return Compiled(
        rules, re.compile(rules.opaque), re.compile(rules.word), re.compile(rules.head) if rules.head else None,
        re.compile(rules.keys), re.compile(rules.narrowing) if rules.narrowing else None,
        re.compile(f"(?:{rules.quoted})$"),
        _marked(rules.blocks), _marked(rules.parameters), _marked(rules.taken_apart), _marked(rules.expressions),
        _marked(rules.generics),
    )  # fmt: skip


def _marked(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each.replace("NAME", f"{MARK}+"), re.MULTILINE) for each in patterns)
