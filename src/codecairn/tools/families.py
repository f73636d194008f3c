"""Six families of tools, each with its envelope: how a value is said and how an error is said.

    family   text of a result   an error over MCP
    history  Markdown           isError, "Error: TYPE / Details: … / Suggestion: …"
    context  Markdown           isError, text as in history, structured as in files
    files    JSON               isError, {"error": "…", and what the error knows}
    index    JSON               JSON-RPC error; isError with the same code on connections from 2025-06-18 on
    catalog  JSON               isError, {"error": {"code", "message", "data"}}; bare methods: a JSON-RPC error
    refs     JSON + metadata    isError, {"error": {"code", "message", "data"}, "metadata"}

That is the text for connections before 2025-06-18 and for bare methods. Later connections get a text made for reading
instead, by the tool's printer; the value is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from codecairn.errors import CairnError, InvalidInput
from codecairn.index.standing import PROTOCOL_VERSION
from codecairn.reading import Printer, Reading
from codecairn.reading.errors import print_error
from codecairn.tools.cursor import SEAL, offset_of
from codecairn.tools.cut import encoded, fitted, room_for

Markdown = Callable[[Any, Mapping[str, Any]], str]


@dataclass(frozen=True)
class Form:
    """How one call's value becomes text: for reading where there is a printer, as Markdown, else as JSON."""

    params: Mapping[str, Any]
    fit: Callable[[Any, int], Any] | None = None
    markdown: Markdown | None = None
    printer: Printer | None = None

    def fitted(self, value: Any, fields: dict[str, Any]) -> dict[str, Any]:
        """The value as far as an answer has room for it."""
        if self.fit is None:
            return fitted(fields, self.params)
        cut: dict[str, Any] = msgspec.to_builtins(self.fit(value, room_for(fields, self.params)))
        return cut

    def text_of(self, value: Any, fields: dict[str, Any], structured: dict[str, Any]) -> str:
        if self.printer is not None:
            return self.printer(fields, self._reading(fields))
        return self.markdown(value, self.params) if self.markdown is not None else encoded(structured)

    def _reading(self, fields: dict[str, Any]) -> Reading:
        seal, place = self.params.get(SEAL, str), self.params.get("cursor")
        offset = offset_of(place) if place and place.isdigit() else 0
        return Reading(self.params, room_for(fields, self.params), cursor=seal, offset=offset)


class RpcError(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    message: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer before a door has framed it."""

    text: str
    value: dict[str, Any]
    """Whole, as programs get it."""
    structured: dict[str, Any]
    """As far as an answer has room for it."""
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
    success: Callable[[Any, Form], Reply]
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
    return RpcError(code=error.number, message=f"{error.title}: {error.message}. {error.remedy}", data=data)


def _value(value: Any, form: Form) -> Reply:
    return _shown(value, msgspec.to_builtins(value), form)


def _value_with_metadata(value: Any, form: Form) -> Reply:
    return _shown(value, {"metadata": unindexed_metadata(), **msgspec.to_builtins(value)}, form)


def _shown(value: Any, fields: dict[str, Any], form: Form) -> Reply:
    structured = form.fitted(value, fields)
    return Reply(form.text_of(value, fields, structured), fields, structured)


def _history_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del tool, metadata
    text = f"Error: {error.kind}\n\nDetails: {error.message}\n\nSuggestion: {error.remedy}"
    fault = HistoryFault(
        type=error.kind, code=error.code, message=error.message, suggestion=error.remedy, data=error.data
    )
    return _failed(text, msgspec.to_builtins(HistoryError(error=fault)), error)


def _failed(text: str, said: dict[str, Any], error: CairnError, *, as_rpc_error: bool = False) -> Reply:
    return Reply(text, said, said, error, as_rpc_error)


def _files_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    said: dict[str, Any] = {"error": error.message, **error.data, "code": error.code, "suggestion": error.remedy}
    if type(error) is InvalidInput:
        said |= {"error": "Invalid parameters", "details": error.message}
    elif error.kind == "PermissionError":
        said["error"] = "Permission denied"
    elif type(error) is CairnError:
        said["tool"] = tool
    return _failed(encoded(said), said, error)


def _context_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    """An argument of the wrong form is told as in files; what a tool itself found wrong with one, in its own words."""
    text = _history_error(error, tool, metadata).text
    said = _files_error(error, tool, metadata).value
    if isinstance(error, InvalidInput) and type(error) is not InvalidInput:
        said["error"] = error.message
    return _failed(text, said, error)


def _numbered_error(error: CairnError, tool: str, *, as_rpc_error: bool) -> Reply:
    del tool
    said = msgspec.to_builtins(NumberedError(error=rpc_error(error)))
    return _failed(encoded(said), said, error, as_rpc_error=as_rpc_error)


def _index_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    return _numbered_error(error, tool, as_rpc_error=True)


def _catalog_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del metadata
    return _numbered_error(error, tool, as_rpc_error=False)


def _refs_error(error: CairnError, tool: str, metadata: dict[str, Any] | None) -> Reply:
    del tool
    fault = RefsFault(code=error.code, message=error.message, data={**error.data, "remedy": error.remedy})
    said = msgspec.to_builtins(RefsError(error=fault, metadata=metadata or unindexed_metadata()))
    return _failed(encoded(said), said, error)


def unindexed_metadata() -> dict[str, Any]:
    """What is true while no index exists; a tool that answers from an index says its own."""
    return {
        "cruxe_protocol_version": PROTOCOL_VERSION, "freshness_status": "stale", "indexing_status": "not_indexed",
        "result_completeness": "partial", "ref": "live", "schema_status": "not_indexed",
    }  # fmt: skip


_METADATA = {"metadata": {"type": "object"}}

FAMILIES: dict[str, Family] = {
    "history": Family(_value, _history_error, HistoryError),
    "context": Family(_value, _context_error, FilesError),
    "files": Family(_value, _files_error, FilesError),
    "index": Family(_value_with_metadata, _index_error, NumberedError, added=_METADATA),
    "catalog": Family(_value, _catalog_error, NumberedError),
    "refs": Family(_value_with_metadata, _refs_error, RefsError, says_metadata=True, added=_METADATA),
}


def reading_error(reply: Reply) -> Reply:
    """An error said for reading; those that are prose already stay as they are."""
    assert reply.error is not None
    if not reply.text.startswith("{"):
        return reply
    return Reply(print_error(reply.error), reply.value, reply.structured, reply.error, reply.as_rpc_error)
