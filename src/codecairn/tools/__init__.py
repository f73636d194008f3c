"""The registry. A tool is one decorated function:

    @tool(family="history", markdown=history_text.commit_list)
    def git_log(call: Call, *, filePath: Annotated[str | None, Meta(description="…")] = None, …) -> CommitList:
        '''When to use it, in the words a client will read.'''

Its signature is the input schema, its return type the output schema, its docstring the description, `family` the
envelope, `method` the bare JSON-RPC name. `Registry.call` does what every call needs (validate, limit, page, envelope,
count); no tool has a `try`, and no door knows more of a tool than this module says.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import msgspec

from codecairn import redact
from codecairn.cancel import Cancel
from codecairn.connection import Connection
from codecairn.errors import CairnError, RateLimited
from codecairn.index.status import LIVE, index_status
from codecairn.metrics import Metrics
from codecairn.paths import printable
from codecairn.reading import Printer
from codecairn.reading.records import print_record
from codecairn.tools import schema
from codecairn.tools.cursor import MOVED, SEAL, Cursors, with_remark
from codecairn.tools.families import FAMILIES, AnswerForm, ToolReply, reading_error

if TYPE_CHECKING:
    from codecairn.journal import CallJournal
    from codecairn.memory.sessions import Sessions
    from codecairn.project import Project, Projects

log = logging.getLogger("codecairn.call")


Answers = Literal["json", "both", "text"]
"""The form of an answer: JSON as text and as value, a text made for reading with the value, or that text alone."""


@dataclass
class Call:
    """One call under way: what a tool may ask of the world around it."""

    projects: Projects
    connection: Connection
    registry: Registry
    door: str
    cancel: Cancel = field(default_factory=Cancel)
    report: Callable[[float, float | None, str | None], None] | None = None
    metadata: dict[str, Any] | None = None
    """How the index stands, once a tool has looked: an error says it too."""
    answers: Answers = "json"
    sequence: str = ""
    """Stands for the list that pages are cut from; where it is another on the next page, that page says so."""

    @property
    def project(self) -> Project:
        return self.projects.current(self.connection.client_roots)

    def project_in(self, arguments: Mapping[str, Any], param: str) -> Project:
        """The project that a call's arguments name, else the current one; raises where it may not be asked."""
        named = arguments.get(param)
        return self.projects.project_at(named, param=param) if named and isinstance(named, str) else self.project

    def ref_for(self, project: Project, ref: str | None) -> str | None:
        """The ref asked for, else the connection's; None for the working tree."""
        asked = ref if ref is not None else self.connection.refs.get(project.root)
        return None if asked == LIVE else asked

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call has come, and learn whether it still wants an answer."""
        self.cancel.check()
        if self.report is not None:
            self.report(done, total, message)


Handler = Callable[..., Any]
Arguments = Any


@dataclass(frozen=True)
class Tool:
    name: str
    family: str
    description: str
    handler: Handler
    params: type[msgspec.Struct]
    returns: Any
    method: str | None = None
    per_minute: int | None = None
    unlogged: tuple[str, ...] = ()
    """Parameters whose values may be secret by their nature and reach no log."""
    slow_ms: float | Callable[[Any], float] | None = None
    """The longest a call should take; where that depends on what is asked, reckoned from the arguments as they came."""
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False
    markdown: Callable[[Any, Any], str] | None = None
    fit: Callable[[Any, int], Any] | None = None
    """Cuts its value to so many characters of JSON, where rows alone will not do."""
    reading: Printer | None = None
    """Prints its value for reading; the Markdown, where there is no other printer."""

    @property
    def metric(self) -> str:
        return self.method or self.name

    @property
    def root_param(self) -> str:
        """The parameter that names the project."""
        return "path" if self.family == "index" else "workspace"

    def root_param_in(self, given: Mapping[str, Any]) -> str:
        """The one that these arguments use: `workspace` names the project wherever `path` does."""
        return "workspace" if given.get("workspace") else self.root_param

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return schema.of_params(self.params)

    @cached_property
    def short_input_schema(self) -> dict[str, Any]:
        return schema.shallow_params(self.input_schema)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """Whole, definitions included; `advertised_output_schema` is what tools/list carries."""
        return schema.of_output(self.returns, FAMILIES[self.family])

    @cached_property
    def short_output_schema(self) -> dict[str, Any]:
        return schema.shallow(self.output_schema)

    @property
    def annotations(self) -> dict[str, Any]:
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }

    @property
    def short_annotations(self) -> dict[str, Any]:
        """Less what the protocol takes for granted: whether it destroys or repeats is asked only of what writes."""
        granted = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
        asked = granted.keys() - ({"destructiveHint", "idempotentHint"} if self.read_only else set())
        return {name: hint for name, hint in self.annotations.items() if name in asked and hint is not granted[name]}


class Registry:
    """The tools of one server, by name; bare methods by theirs."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.methods: dict[str, Tool] = {}
        self.metrics = Metrics()
        self.elsewhere: Callable[[Tool, Call, Mapping[str, Any]], dict[str, Any] | None] | None = None
        """Finds the value of a call at another server while there is no index here; None where it has none."""
        self.journal: CallJournal | None = None
        """The latest calls; kept only where somebody can look at them."""

    @cached_property
    def sessions(self) -> Sessions:
        from codecairn.memory.sessions import Sessions  # noqa: PLC0415 - for who has connections

        return Sessions()

    def add(self, tool: Tool) -> None:
        if tool.name in self.tools:
            raise ValueError(f"two tools are called {tool.name}")
        if tool.method in self.methods:
            raise ValueError(f"two tools answer {tool.method}")
        self.tools[tool.name] = tool
        if tool.method is not None:
            self.methods[tool.method] = tool

    def find(self, name: str) -> Tool | None:
        """By tool name, or by the slashed name of a bare method."""
        return self.tools.get(name) or self.methods.get(name)

    def call(self, tool: Tool, call: Call, arguments: Arguments) -> ToolReply:
        """Answer a call; it is noted in its session, timed and counted, whatever comes of it."""
        began = time.perf_counter()
        log.debug("%s called on %s", tool.name, call.connection.id)
        reply = _answer(tool, call, arguments)
        _note(tool, call, arguments, reply)
        _record(tool, call, arguments, reply, (time.perf_counter() - began) * 1000)
        return reply


_declared: list[Tool] = []


def tool(
    *,
    family: str,
    markdown: Callable[[Any, Any], str] | None = None,
    reading: Printer | None = None,
    into: list[Tool] = _declared,
    **facts: Any,
) -> Callable[[Handler], Handler]:
    """Declare a tool, with further facts as `Tool` names them; `standard()` puts every declared one into a registry."""

    def declare(handler: Handler) -> Handler:
        hints = get_type_hints(handler, include_extras=True)
        params = schema.params_struct(handler, hints, with_format=markdown is not None)
        name, description = handler.__name__, " ".join((handler.__doc__ or "").split())
        printer = reading or (None if markdown else print_record)
        shown = {"markdown": markdown, "reading": printer, **facts}
        into.append(Tool(name, family, description, handler, params, hints["return"], **shown))
        return handler

    return declare


def standard(selection: tuple[str, ...] = ()) -> Registry:
    """Every tool that a module of this folder declares, or the selected ones; a selection is by name or family."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    registry = Registry()
    for each in _declared:
        if not selection or each.name in selection or each.family in selection:
            registry.add(each)
    return registry


def declared(name: str) -> Tool:
    """One tool by its name; of the modules of this folder only the one that declares it is imported."""
    found = next((each for each in _declared if each.name == name), None)
    if found is not None:
        return found
    modules = [each.name for each in pkgutil.iter_modules(__path__)]
    for module in [each for each in modules if _declares(each, name)] or modules:
        importlib.import_module(f"{__name__}.{module}")
    return next(each for each in _declared if each.name == name)


def _declares(module: str, name: str) -> bool:
    """Told from the text; where there is none beside the package, no module is known to."""
    try:
        return f"\ndef {name}(" in Path(__path__[0], f"{module}.py").read_text(encoding="utf-8")
    except OSError:
        return False


def _answer(tool: Tool, call: Call, arguments: Arguments) -> ToolReply:
    """Validate, limit and invoke. This is the edge with the one broad except: what the tool raised becomes its family's
    error; a bug is logged and said."""
    try:
        given = msgspec.structs.asdict(schema.validate(tool.params, arguments))
        if tool.per_minute is not None:
            call.connection.count(tool.name, tool.per_minute)
        wanted_format = given.pop("format") if tool.markdown else None
        ask = call.registry.elsewhere
        value: Any = ask(tool, call, given) if ask is not None else None
        if value is None:
            value, given = _invoke(tool, call, given)
        return FAMILIES[tool.family].success(value, _form(tool, call, wanted_format, given))
    except CairnError as error:
        return _failure(tool, call, arguments, _without_frames(error))
    except Exception as error:
        log.exception("%s failed", tool.name)
        return _failure(tool, call, arguments, CairnError(printable(f"{type(error).__name__}: {error}")))


def _invoke(tool: Tool, call: Call, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns the value and the arguments. A cursor goes in as the place it names, and comes out bound to its query."""
    if "cursor" not in given:
        return tool.handler(call, **given), given
    cursors = _cursors(tool, call, given)
    bookmark = cursors.open(given["cursor"])
    given = {**given, "cursor": bookmark.place if bookmark else None}
    value = tool.handler(call, **given)
    if bookmark is not None and bookmark.has_moved(call.sequence):
        value = with_remark(value, MOVED)
    following = getattr(value, "next_cursor", None)
    if following is not None:
        value = msgspec.structs.replace(value, next_cursor=cursors.seal(following, call.sequence))
    return value, {**given, SEAL: lambda place: cursors.seal(place, call.sequence)}


def _cursors(tool: Tool, call: Call, given: dict[str, Any]) -> Cursors:
    project = call.project_in(given, tool.root_param_in(given))
    others = {name: value for name, value in given.items() if name not in ("ref", "workspace", tool.root_param)}
    is_about_a_ref = "ref" in given or given.get("head_ref", "none") is None
    ref = call.ref_for(project, given.get("ref")) if is_about_a_ref else None
    return Cursors.of(tool.name, project.identity, ref, others)


def _form(tool: Tool, call: Call, wanted: str | None, params: Mapping[str, Any]) -> AnswerForm:
    if wanted == "json":
        return AnswerForm(params, tool.fit)
    return AnswerForm(params, tool.fit, tool.markdown, tool.reading if call.answers != "json" else None)


def _without_frames(error: CairnError) -> CairnError:
    """The same error for who keeps it: its traces hold all that the call had in hand, and some hold the error."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _failure(tool: Tool, call: Call, arguments: Arguments, error: CairnError) -> ToolReply:
    reply = FAMILIES[tool.family].failure(error, tool.name, _metadata(tool, call, arguments))
    return reply if call.answers == "json" else reading_error(reply)


def _metadata(tool: Tool, call: Call, arguments: Arguments) -> dict[str, Any] | None:
    """How the index stands that a failed call was about: as the tool saw it, else as it is found now. The first that
    can be found is told: by what the call names, by its project alone, by the served project."""
    if call.metadata is not None or not FAMILIES[tool.family].says_metadata:
        return call.metadata
    given = arguments if isinstance(arguments, dict) else {}
    ref = given["ref"] if isinstance(given.get("ref"), str) else None
    looks = (_look(tool, call, *each) for each in ((given, ref), (given, LIVE), ({}, LIVE)))
    return next((found for found in looks if found is not None), None)


def _look(tool: Tool, call: Call, given: Mapping[str, Any], ref: str | None) -> dict[str, Any] | None:
    """How the index stands; None where that cannot be learnt, since an error must not be hidden behind another."""
    try:
        project = call.project_in(given, tool.root_param_in(given))
        return index_status(project.index, call.cancel, call.ref_for(project, ref)).metadata()
    except CairnError:
        return None
    except Exception:
        log.exception("how the index stands could not be said")
        return None


def _note(tool: Tool, call: Call, arguments: Arguments, reply: ToolReply) -> None:
    """Note an answer in its session, behind the call: nothing that goes wrong there is the caller's. Neither a command
    nor a person who looks at pages is a connection, and has none."""
    if reply.error is None and call.door not in ("cli", "page"):
        given = {name: value for name, value in (arguments or {}).items() if name not in tool.unlogged}
        root = given.get(tool.root_param_in(given))
        call.registry.sessions.note(call.connection, call.projects, tool.name, root, given)


def _record(tool: Tool, call: Call, arguments: Arguments, reply: ToolReply, elapsed_ms: float) -> None:
    """Count and log a call, also one that was refused."""
    kind = reply.error.kind if reply.error else None
    most_ms = tool.slow_ms(arguments) if callable(tool.slow_ms) else tool.slow_ms
    slow, refused = most_ms is not None and elapsed_ms > most_ms, isinstance(reply.error, RateLimited)
    call.registry.metrics.record(tool.metric, elapsed_ms, error=kind, refused=refused, slow=slow)
    level = logging.WARNING if slow else logging.INFO
    if not log.isEnabledFor(level) and call.registry.journal is None:
        return
    count = reply.value.get("totalMatches")
    facts = {
        "tool": tool.name, "door": call.door, "connection": call.connection.id, "success": reply.error is None,
        "duration": round(elapsed_ms, 2), "size": len(reply.text), "error": kind,
        "arguments": redact.mask_arguments(_loggable(tool, arguments)), **({} if count is None else {"found": count}),
    }  # fmt: skip
    log.log(level, "%s", tool.name, extra={"call": facts})
    if call.registry.journal is not None:
        call.registry.journal.note(facts, call.connection.client)


def _loggable(tool: Tool, arguments: Arguments) -> Arguments:
    if not isinstance(arguments, dict):
        return arguments
    return {name: value if name not in tool.unlogged else "…" for name, value in arguments.items()}
