"""What a call is about, told from its arguments alone: its project, how that stands, and the cursors of its query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from codecairn.index.standing import LIVE, standing
from codecairn.project import Project
from codecairn.tools.cursor import Cursors

if TYPE_CHECKING:
    from codecairn.tools import Call, Tool


def looks_at(tool: Tool, call: Call, arguments: Any) -> tuple[Callable[[], dict[str, Any]], ...]:
    """Ways to learn how the index stands that a call is about, best first: by what it names, by its project alone, by
    the served project, where it names none that may be asked."""
    given = arguments if isinstance(arguments, dict) else {}
    ref = given.get("ref")
    return (
        lambda: _stands(call, project_asked(tool, call, given), ref if isinstance(ref, str) else None),
        lambda: _stands(call, project_asked(tool, call, given), LIVE),
        lambda: _stands(call, call.project, LIVE),
    )


def _stands(call: Call, project: Project, ref: str | None) -> dict[str, Any]:
    return standing(project.index, call.cancel, call.ref_for(project, ref)).metadata()


def project_asked(tool: Tool, call: Call, given: Mapping[str, Any]) -> Project:
    """The project that a call is about; raises where it names one that is none or may not be asked."""
    param = "path" if tool.family == "index" else "workspace"
    named = given.get(param)
    return call.projects.named(named, param=param) if named and isinstance(named, str) else call.project


def cursors_of(tool: Tool, call: Call, params: msgspec.Struct) -> Cursors:
    given = msgspec.structs.asdict(params)
    project = project_asked(tool, call, given)
    named = {"ref", "path" if tool.family == "index" else "workspace"}
    others = {name: value for name, value in given.items() if name not in named}
    is_about_a_ref = "ref" in given or given.get("head_ref", "none") is None
    ref = call.ref_for(project, given.get("ref")) if is_about_a_ref else None
    return Cursors.of(tool.name, ascii(str(project.root)), ref, others)


def with_remark(value: Any, remark: str) -> Any:
    """The value with a remark where its kind has a place for one."""
    if hasattr(value, "metadata"):
        warnings = [*value.metadata.get("warnings", ()), remark]
        return msgspec.structs.replace(value, metadata={**value.metadata, "warnings": warnings})
    for name in ("warnings", "notes"):
        if hasattr(value, name):
            return msgspec.structs.replace(value, **{name: [*getattr(value, name), remark]})
    said = f"{value.message}. {remark}" if value.message else remark
    return msgspec.structs.replace(value, message=said)
