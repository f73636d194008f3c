"""The rules by which a name is bound to its definition: the table `[resolve]` of a language.

`like` there is another language whose rules hold where none is given. In expressions with NAME that word stands for
the name looked for, captured as `n`.

    imports       how an import names files: "dotted" (Python's way), "path" (relative, or of a package), "folder"
                  (below the module that the manifest names), "crate", "package" (declared in the files), "include"
                  (a file), or "none"
    reexports     true where what a file imports can be imported from it
    passed_on     an expression for the stretch that names what a file passes on of what it imports; all without one
    hidden        an expression for names that an import of everything leaves out, from where the import begins
    flat          true where constructors, fields and what a class declares are seen as what stands beside their type is
    prefix        an expression for what an include may write before the path of a file
    manifest      the file that says where modules are; `manifest_name` the expression for the module's name in it
    roots         folders below those around a file from which absolute imports may start
    requires      functions that import what their argument names
    returned      an expression for the name that a file gives to who imports it, and whose members are the file's
    endings       of files that an import leaves out, with the dot; `index` stems of files that stand for their folder
    shares        whose top-level names are seen without an import: those of the "file", its "folder", its "package" or
                  "all"
    global_functions  true where functions without a package are seen in every package
    namespaces    true where names are found by their path, whichever file holds them: any file may add to a namespace;
                  `closed` where each is written in one place, so that one which the project has nowhere is a library's;
                  `first` an expression for a path's first part
    libraries     namespaces and names without an import that are no project's
    headers       endings of files in which a function without a body is a declaration; `stubs` of files that hold
                  nothing but declarations
    abstract      types that make the types below them interfaces
    opaque        expressions for comments and strings, with a group `inside` where only a part of one is text: a
                  heredoc begins in the middle of a line of code
    word          an expression for a name, `ends` the signs it may end with; `variable` for how a variable begins
    selves        names for the instance inside a method; `classes` for its type, `supers` for what that extends
    itself        how the type around is written, which is the file's own outside of all others
    sigils        what a name may begin with, and is then another one; where `@` is a decorator's it is none
    separators    what joins a receiver and its member, longest first
    points        the one of them that leads to what a value points to: what a library's generic holds
    variable_mark what stands before the name of every variable; `path_mark` what joins the parts of a name with its
                  namespace, which is one word then
    scopes        "indent" or "braces": what tells blocks apart; "functions" where only functions do
    blocks        expressions with NAME for a variable of the brackets or the function around it; `parameters` for one
                  of the function whose head it stands in; `taken_apart` for one inside a pattern that takes an argument
                  apart; `expressions` for one of the rest of the brackets around it; `generics` for a type parameter
                  of the definition around it; `arrays` for one of the brackets
                  around it whose size stands behind its name (`char NAME[8]`), `made` for one of a function's whose
                  arguments do (`Type NAME(1);`)
    begins        an expression for what has to stand between a variable's declaration and its use; none where the whole
                  block sees it
    typed         an expression for the type that is written behind the name of a variable, where the grammar sees none
    head          an expression for what stands before a parameter list; none where any bracket may open one
    reach         bytes before a name in which its declaration begins
    keys          an expression for what follows a name that labels a value (`call(NAME=1)`, `{NAME: 1}`) and is no
                  variable; `key_brackets` the brackets such a name stands in
    package_objects  true where an object of a package's name holds more of its names, and objects are modules
    implicit_members  true where members are seen without a receiver
    extensions    true where any file may add members to a type; `extended` an expression for the head of a function
                  that is called on its first argument, whose group is that one's type
    partial       an expression for the head of a type of which other files have further parts
    outer_packages  true where what the packages around a file's own define is seen without an import
    called        an expression for what follows a name that means a function even where a variable has the name
    globals       an expression for what makes a name, `NAME`, one of all files; what a file defines that neither
                  imports nor exports is such a name, too
    aliases       true where a variable that is given a function of its own name is taken for the function
    passes        functions that give what their first argument holds, in some order
    makers        functions that a type may have without a definition, and that give a value of it
    copies        functions that make a value like their first argument; `mixes` an expression for those that put the
                  members of their second into the first
    capital_functions  true where functions, too, have names that begin with a capital
    literal       what makes the name behind it a value of the language's own
    guesses       true where the only member of a name is taken for the one meant if nothing is known of the receiver;
                  `library_members` names, apart by space, that values of the language's own have as well: those are
                  taken so only where the receiver is called as the type is
    dynamic       members that make others while the program runs; "*" where any type may get some
    keywords      words of the language that may be names of members or of exports, too, and mean none by themselves
    other_names   an expression for what follows a word that is then the name of another (`operator =`)
    primitives    types of the language itself that no definition of the name replaces
    wrappers      generic types that stand for their (last) argument; `values` those whose elements are of it; `sealed`
                  those that have members of their own and none of what they hold, with `sealed_values` the words that
                  make one, `sealed_results` methods of libraries that give one of the first, `sealed_members` those of
                  its own that give another, and `opens` the wrappers that pass its members on
    keeps         members that give what they are called on, where its type has no such member: what takes a value out
                  of a wrapper, or copies it; `wrapped` an expression for what stands before a name in a pattern that
                  takes it out of one
    tuples        true where `(A, B)` is a type, and a variable may be one part of such a value
    bounds        an expression that begins at a type parameter and tells what its types have to be; `where` one for
                  the name, `NAME`, further down in the head of its definition
    macros        what follows a macro's name, which means no function; `macro` how the signature of one begins
    casts         functions whose first argument is the type of their result
    narrowing     an expression for a test of a type: its groups are the tested expression and the type
    quoted        an expression for what stands before a string that is a type
    doc_result    an expression for the type of a function's result in its comment; `doc_type` for a variable's,
                  `doc_parameter` for that of a parameter, where NAME stands for its name
    fixture       an expression for the line that marks a function whose result tests take as a parameter of its name;
                  `fixture_files` those in the folders above whose fixtures a test sees
    marks         what stands before a name that marks a definition (`#[test]`) and is no function of that name
    attribute     how the names of types end that may be left off in `[Name]`
    splits_types  true where a type and a value may share a name and are two things; `fields_apart` likewise a field
                  and a method; `functions_apart` where a function outside of all types is no member of anything but
                  a module; `methods_apart` where a name with nothing before it means no method; `methods_called`
                  where a method of a value is never named without being called
    declares      an expression for what stands before a name that is defined there, where no grammar sees it: in a
                  macro
    constructors  names of methods that are used where their type is called; `declares_values` true where a variable
                  that is declared with a type uses them as well, and `~` before a type's name ends values of it
    overloads     true where functions of one name in one type are several; `trailing_blocks` where a block behind a
                  call is one more argument
    own_types     true where `type A B` makes a type of its own
    bare_results  true where results stand without a mark between parameters and body
    overrides_are_one  true where references to a member are also those to what it overrides and what overrides it
    virtual       an expression for the head of a method that overrides another or may be overridden: its references are
                  also those to what it overrides, and where it is overridden
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

_NO_TYPE = (
    "return", "new", "as", "is", "not", "enum", "class", "struct", "interface", "record", "trait", "object", "else",
    "case", "throw", "in", "await", "yield", "goto", "delete", "extends", "implements", "instanceof", "namespace",
    "package", "import", "using",
)  # fmt: skip
_TYPE = r"[\w>\]?*&](?=\s+[*&]?NAME)" + "".join(rf"(?<!\b{word})" for word in _NO_TYPE) + r"\s+[*&]?"
"""The end of a type and the space before the name declared: words that stand before a name and declare none are not.
That a name follows is seen first, as that is rare and asking for every word is dear."""


class NameRules(Struct, frozen=True, forbid_unknown_fields=True):
    imports: Literal["dotted", "path", "folder", "crate", "package", "include", "none"] = "none"
    reexports: bool = False
    passed_on: str = ""
    hidden: str = ""
    flat: bool = False
    prefix: str = ""
    manifest: str = ""
    manifest_name: str = ""
    roots: tuple[str, ...] = ("src",)
    requires: frozenset[str] = frozenset()
    returned: str = ""
    endings: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    shares: Literal["file", "folder", "package", "all"] = "all"
    global_functions: bool = False
    namespaces: bool = False
    libraries: frozenset[str] = frozenset()
    closed: bool = False
    first: str = r"\w+\s*::"
    headers: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    abstract: frozenset[str] = frozenset()
    opaque: tuple[str, ...] = (
        r"//[^\n]*", r"/\*[\s\S]*?\*/", r'"(?:\\.|[^"\\\n])*"', r"'(?:\\[^\n]{1,10}?|[^'\\\n])'",
    )  # fmt: skip
    word: str = r"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
    ends: str = ""
    variable: str = ""
    selves: frozenset[str] = frozenset({"this", "self"})
    classes: frozenset[str] = frozenset()
    supers: frozenset[str] = frozenset({"super"})
    itself: str = ""
    sigils: str = "@#"
    separators: tuple[str, ...] = ("?.", "!.", "&.", "->", "::", ".")
    points: str = ""
    variable_mark: str = ""
    path_mark: str = ""
    scopes: Literal["indent", "braces", "functions"] = "braces"
    blocks: tuple[str, ...] = (
        r"\b(?:var|let|val|const|final|auto|my|local|mut)\s+(?P<n>NAME)\b(?!\s*[\w<*&:])",
        rf"{_TYPE}(?P<n>NAME)\s*(?:=(?![=>])|;|:(?!:))",
        r"(?<![\w.])(?P<n>NAME)\s*:=",
    )
    arrays: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    parameters: tuple[str, ...] = (
        r"[(,]\s*(?P<n>NAME)\s*:(?!:)",
        rf"{_TYPE}(?P<n>NAME)\s*[,)]",
        r"\.\.\.\s*(?P<n>NAME)\s*[,)]",
    )
    taken_apart: tuple[str, ...] = ()
    expressions: tuple[str, ...] = (r"(?<![\w.])(?P<n>NAME)\s*[-=]>",)
    generics: tuple[str, ...] = ()
    begins: str = ""
    typed: str = ""
    head: str = ""
    reach: int = 300
    keys: str = r"\s*:(?!:)"
    key_brackets: str = "("
    package_objects: bool = False
    implicit_members: bool = True
    extensions: bool = False
    extended: str = ""
    partial: str = ""
    outer_packages: bool = False
    called: str = ""
    globals: str = ""
    aliases: bool = False
    passes: frozenset[str] = frozenset()
    makers: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    mixes: str = ""
    capital_functions: bool = False
    literal: str = ""
    guesses: bool = True
    library_members: str = ""
    dynamic: frozenset[str] = frozenset()
    keywords: frozenset[str] = frozenset()
    other_names: dict[str, str] = {}
    primitives: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    sealed: tuple[str, ...] = ()
    sealed_values: dict[str, str] = {}
    sealed_results: frozenset[str] = frozenset()
    sealed_members: frozenset[str] = frozenset()
    opens: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    wrapped: str = ""
    tuples: bool = False
    bounds: str = r"[\w$]+\s+extends\s+([^,>=?]+)"
    where: str = ""
    macros: str = ""
    macro: str = ""
    casts: frozenset[str] = frozenset()
    narrowing: str = ""
    quoted: str = ""
    doc_result: str = ""
    doc_type: str = ""
    doc_parameter: str = ""
    fixture: str = ""
    fixture_files: tuple[str, ...] = ()
    marks: str = ""
    attribute: str = ""
    splits_types: bool = False
    fields_apart: bool = False
    functions_apart: bool = False
    methods_apart: bool = False
    methods_called: bool = False
    declares: str = ""
    constructors: frozenset[str] = frozenset()
    declares_values: bool = False
    overloads: bool = False
    trailing_blocks: bool = False
    own_types: bool = False
    bare_results: bool = False
    overrides_are_one: bool = False
    virtual: str = ""
