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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from codecairn.budget import room_for
from codecairn.errors import CairnError, InvalidInput
from codecairn.index.status import LIVE, IndexStatus
from codecairn.reading import PrintContext, Printer
from codecairn.reading.errors import print_error
from codecairn.tools.cursor import SEAL, offset_of
from codecairn.tools.truncation import fit_fields, to_json

Markdown = Callable[[Any, Mapping[str, Any]], str]


class AnswerForm(Struct, frozen=True):
    """How one call's value becomes text: for reading where there is a printer, as Markdown, else as JSON."""

    params: Mapping[str, Any]
    fit: Callable[[Any, int], Any] | None = None
    markdown: Markdown | None = None
    printer: Printer | None = None

    def cut(self, value: Any, fields: dict[str, Any]) -> dict[str, Any]:
        """The value as far as an answer has room for it."""
        if self.fit is None:
            return fit_fields(fields, self.params)
        cut: dict[str, Any] = msgspec.to_builtins(self.fit(value, room_for(fields, self.params)))
        return cut

    def text_of(self, value: Any, fields: dict[str, Any]) -> str:
        if self.printer is not None:
            return self.printer(fields, self._reading(fields))
        return self.markdown(value, self.params) if self.markdown is not None else to_json(self.cut(value, fields))

    def _reading(self, fields: dict[str, Any]) -> PrintContext:
        seal, place = self.params.get(SEAL, str), self.params.get("cursor")
        offset = offset_of(place) if place and place.isdigit() else 0
        return PrintContext(self.params, room_for(fields, self.params), cursor=seal, offset=offset)


class RpcError(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    message: str
    data: dict[str, Any]


@dataclass(frozen=True)
class ToolReply:
    """An answer before a door has framed it."""

    text: str
    value: dict[str, Any]
    """Whole, as programs get it."""
    cut: Callable[[], dict[str, Any]]
    error: CairnError | None = None
    as_rpc_error: bool = False
    """Whether a connection with a handshake gets this error as a JSON-RPC error instead of a result."""

    @cached_property
    def structured(self) -> dict[str, Any]:
        """The value as far as an answer has room for it; few clients ask for it, and of 500 rows it takes 15 ms."""
        return self.cut()

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


Metadata = dict[str, Any]
NOT_INDEXED: Metadata = IndexStatus("stale", "not_indexed", "not_indexed", LIVE).metadata()
"""True while no index exists; a tool that answers from an index says its own."""


class Family(Struct, frozen=True):
    fault: Callable[[CairnError, str, Metadata | None], dict[str, Any]]
    """Makes the value of an error, from the tool's name and how the index stands."""
    error_form: Any
    is_prose: bool = False
    """Whether the text of an error is prose instead of JSON."""
    is_rpc_error: bool = False
    has_metadata: bool = False
    """Whether every value says how the index stands."""
    says_metadata: bool = False
    """Whether its errors say so too."""

    @property
    def extra_properties(self) -> dict[str, Any]:
        """Properties the envelope adds to every value, as schemas."""
        return {"metadata": {"type": "object"}} if self.has_metadata else {}

    def success(self, value: Any, form: AnswerForm) -> ToolReply:
        fields = {**({"metadata": NOT_INDEXED} if self.has_metadata else {}), **msgspec.to_builtins(value)}
        return ToolReply(form.text_of(value, fields), fields, lambda: form.cut(value, fields))

    def failure(self, error: CairnError, tool: str, metadata: Metadata | None) -> ToolReply:
        said = self.fault(error, tool, metadata)
        text = _prose(error) if self.is_prose else to_json(said)
        return ToolReply(text, said, lambda: said, error, self.is_rpc_error)


def rpc_error(error: CairnError) -> RpcError:
    data = {"reason": error.message, **error.data, "remedy": error.remedy}
    if error.number == -32603:
        data["message"] = error.message
    return RpcError(code=error.number, message=f"{error.title}: {error.message}. {error.remedy}", data=data)


def _prose(error: CairnError) -> str:
    return f"Error: {error.kind}\n\nDetails: {error.message}\n\nSuggestion: {error.remedy}"


def _history_fault(error: CairnError, *_: Any) -> dict[str, Any]:
    fault = HistoryFault(
        type=error.kind, code=error.code, message=error.message, suggestion=error.remedy, data=error.data
    )
    return _fields(HistoryError(error=fault))


def _files_fault(error: CairnError, tool: str, metadata: Metadata | None) -> dict[str, Any]:
    del metadata
    said: dict[str, Any] = {"error": error.message, **error.data, "code": error.code, "suggestion": error.remedy}
    if type(error) is InvalidInput:
        said |= {"error": "Invalid parameters", "details": error.message}
    elif error.kind == "PermissionError":
        said["error"] = "Permission denied"
    elif type(error) is CairnError:
        said["tool"] = tool
    return said


def _context_fault(error: CairnError, tool: str, metadata: Metadata | None) -> dict[str, Any]:
    """An argument of the wrong form is told as in files; what a tool itself found wrong with one, in its own words."""
    said = _files_fault(error, tool, metadata)
    is_special = isinstance(error, InvalidInput) and type(error) is not InvalidInput
    return {**said, "error": error.message} if is_special else said


def _rpc_fault(error: CairnError, *_: Any) -> dict[str, Any]:
    return _fields(NumberedError(error=rpc_error(error)))


def _refs_fault(error: CairnError, tool: str, metadata: Metadata | None) -> dict[str, Any]:
    del tool
    fault = RefsFault(code=error.code, message=error.message, data={**error.data, "remedy": error.remedy})
    return _fields(RefsError(error=fault, metadata=metadata or NOT_INDEXED))


def _fields(value: msgspec.Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(value)
    return fields


FAMILIES: dict[str, Family] = {
    "history": Family(_history_fault, HistoryError, is_prose=True),
    "context": Family(_context_fault, FilesError, is_prose=True),
    "files": Family(_files_fault, FilesError),
    "index": Family(_rpc_fault, NumberedError, is_rpc_error=True, has_metadata=True),
    "catalog": Family(_rpc_fault, NumberedError),
    "refs": Family(_refs_fault, RefsError, has_metadata=True, says_metadata=True),
}


def reading_error(reply: ToolReply) -> ToolReply:
    """An error said for reading; those that are prose already stay as they are."""
    assert reply.error is not None
    return reply if not reply.text.startswith("{") else replace(reply, text=print_error(reply.error))
