"""Six families of tools, each with its envelope: how a value is said and how an error is said.

    family   text of a result   an error over MCP
    history  Markdown           isError, "Error: TYPE / Details: … / Suggestion: …"
    context  Markdown           isError, text as in history, structured as in files
    files    JSON               isError, {"error": "…", and what the error knows}
    index    JSON               JSON-RPC error; isError with the same code on connections without a handshake
    catalog  JSON               isError, {"error": {"code", "message", "data"}}; bare methods: a JSON-RPC error
    refs     JSON + metadata    isError, {"error": {"code", "message", "data"}, "metadata"}

A reply holds both halves of an answer. Either alone suffices: clients that show a model only the structured half find
the Markdown in it as `text`, and an error's text names its code and its remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from codecairn.errors import CairnError, InvalidInput
from codecairn.index.standing import PROTOCOL_VERSION
from codecairn.tools.cut import encoded, json_text

Markdown = Callable[[Any, Mapping[str, Any]], str]


class RpcError(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    message: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer before a door has framed it."""

    text: str
    value: dict[str, Any]
    error: CairnError | None = None
    as_rpc_error: bool = False
    """Whether a connection with a handshake gets this error as a JSON-RPC error instead of a result."""

    @property
    def rpc_error(self) -> RpcError:
        assert self.error is not None
        return rpc_error(self.error)


class HistoryFault(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    code: str
    message: str
    suggestion: str
    data: dict[str, Any]


class HistoryError(msgspec.Struct, frozen=True, kw_only=True):
    error: HistoryFault
    text: str


class FilesError(msgspec.Struct, frozen=True, kw_only=True):
    error: str
    code: str
    suggestion: str


class NumberedError(msgspec.Struct, frozen=True, kw_only=True):
    error: RpcError


class RefsFault(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    message: str
    data: dict[str, Any]


class RefsError(msgspec.Struct, frozen=True, kw_only=True):
    error: RefsFault
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Family:
    success: Callable[[Any, Markdown | None, Mapping[str, Any]], Reply]
    failure: Callable[[CairnError, str, dict[str, Any] | None], Reply]
    error_form: Any
    says_metadata: bool = False
    """Whether its errors say how the index stands."""
    added: dict[str, Any] = field(default_factory=dict)
    """Properties the envelope adds to every value, as schemas."""


def rpc_error(error: CairnError) -> RpcError:
    data = {"reason": error.message, **error.data, "remedy": error.remedy}
    if error.number == -32603:
        data["message"] = error.message
    return RpcError(code=error.number, message=error.title, data=data)


def _history_value(value: Any, markdown: Markdown | None, params: Mapping[str, Any]) -> Reply:
    fields = msgspec.to_builtins(value)
    if markdown is None:
        text = json_text(fields, params)
        return Reply(text, {**fields, "text": text})
    text = markdown(value, params)
    return Reply(text, {**fields, "text": text})


def _history_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del tool, metadata
    text = f"Error: {error.kind}\n\nDetails: {error.message}\n\nSuggestion: {error.remedy}"
    fault = HistoryFault(
        type=error.kind, code=error.code, message=error.message, suggestion=error.remedy, data=error.data
    )
    return Reply(text, msgspec.to_builtins(HistoryError(error=fault, text=text)), error)


def _json_value(value: Any, markdown: Markdown | None, params: Mapping[str, Any]) -> Reply:
    del markdown
    fields = msgspec.to_builtins(value)
    return Reply(json_text(fields, params), fields)


def _files_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    said: dict[str, Any] = {"error": error.message, **error.data, "code": error.code, "suggestion": error.remedy}
    if type(error) is InvalidInput:
        said |= {"error": "Invalid parameters", "details": error.message}
    elif error.kind == "PermissionError":
        said["error"] = "Permission denied"
    elif type(error) is CairnError:
        said["tool"] = tool
    return Reply(encoded(said), said, error)


def _context_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    """An argument of the wrong form is told as in files; what a tool itself found wrong with one, in its own words."""
    text = _history_error(error, tool, metadata).text
    said = _files_error(error, tool, metadata).value
    if isinstance(error, InvalidInput) and type(error) is not InvalidInput:
        said["error"] = error.message
    return Reply(text, {**said, "text": text}, error)


def _numbered_error(error: CairnError, tool: str, *, as_rpc_error: bool) -> Reply:
    del tool
    said = msgspec.to_builtins(NumberedError(error=rpc_error(error)))
    return Reply(encoded(said), said, error, as_rpc_error)


def _index_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    return _numbered_error(error, tool, as_rpc_error=True)


def _catalog_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    return _numbered_error(error, tool, as_rpc_error=False)


def _refs_value(value: Any, markdown: Markdown | None, params: Mapping[str, Any]) -> Reply:
    del markdown
    fields = {"metadata": unindexed_metadata(), **msgspec.to_builtins(value)}
    return Reply(json_text(fields, params), fields)


def _refs_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del tool
    fault = RefsFault(code=error.code, message=error.message, data={**error.data, "remedy": error.remedy})
    said = msgspec.to_builtins(RefsError(error=fault, metadata=metadata or unindexed_metadata()))
    return Reply(encoded(said), said, error)


def unindexed_metadata() -> dict[str, Any]:
    """What is true while no index exists; a tool that answers from an index says its own."""
    return {
        "cruxe_protocol_version": PROTOCOL_VERSION, "freshness_status": "stale", "indexing_status": "not_indexed",
        "result_completeness": "partial", "ref": "live", "schema_status": "not_indexed",
    }  # fmt: skip


_TEXT = {"text": {"type": "string"}}
_METADATA = {"metadata": {"type": "object"}}

FAMILIES: dict[str, Family] = {
    "history": Family(_history_value, _history_error, HistoryError, added=_TEXT),
    "context": Family(_history_value, _context_error, FilesError, added=_TEXT),
    "files": Family(_json_value, _files_error, FilesError),
    "index": Family(_refs_value, _index_error, NumberedError, added=_METADATA),
    "catalog": Family(_json_value, _catalog_error, NumberedError),
    "refs": Family(_refs_value, _refs_error, RefsError, says_metadata=True, added=_METADATA),
}
