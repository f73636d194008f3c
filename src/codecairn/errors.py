"""Everything that can go wrong, once. A tool raises what happened; the family of the tool decides the envelope.

    CairnError                       internal_error            -32603  ProcessingError
    ├── InvalidInput                 invalid_input             -32602  InvalidInputError
    │   ├── InvalidStrategy          invalid_strategy
    │   ├── InvalidMaxTokens         invalid_max_tokens
    │   ├── EmptyQuery               invalid_input             -32004
    │   ├── InvalidPattern           invalid_input             -32602
    │   ├── Unreadable               invalid_input             -32602
    │   └── AmbiguousSymbol          ambiguous_symbol
    ├── Denied                       workspace_not_allowed     -32602  PermissionError
    │   ├── WorkspaceNotRegistered   workspace_not_registered
    │   └── WorkspaceLimitExceeded   workspace_limit_exceeded
    ├── RepositoryDenied             workspace_not_allowed     -32603  PermissionError
    ├── NotFound                     file_not_found            -32602  NotFoundError
    │   ├── ProjectNotFound          project_not_found         -32001
    │   ├── RefNotFound              ref_not_indexed
    │   ├── SymbolNotFound           symbol_not_found
    │   └── ResultNotFound           result_not_found
    ├── NotARepository               project_not_found         -32001  GitRepositoryError
    ├── Busy                         index_in_progress         -32002  ProcessingError
    │   └── SyncInProgress           sync_in_progress
    ├── NotReady                     index_not_ready           -32003  ProcessingError
    │   ├── IndexStale               index_stale
    │   ├── IndexIncompatible        index_incompatible
    │   │   └── VersionDamaged       index_incompatible
    │   ├── OverlayNotReady          overlay_not_ready
    │   └── NoEdgesAvailable         no_edges_available
    ├── MergeBaseFailed              merge_base_failed         -32603  ProcessingError
    ├── RateLimited                  internal_error            -32603  RateLimitError
    ├── TooManyFiles                 internal_error            -32603  ProcessingError
    ├── TimedOut                     internal_error            -32603  ProcessingError
    ├── Cancelled                    internal_error            -32603  ProcessingError
    ├── ParseFailed                  internal_error            -32603  ProcessingError
    └── EncoderFailed                internal_error            -32603  ProcessingError

`code` is the string registry of the ref tools, `number` the JSON-RPC code, `kind` the type the git tools print.
"""

from __future__ import annotations

from typing import Any, ClassVar


class CairnError(Exception):
    """An error: its message, a remedy, and the facts a caller can act on."""

    code: ClassVar[str] = "internal_error"
    number: ClassVar[int] = -32603
    kind: ClassVar[str] = "ProcessingError"
    title: ClassVar[str] = "Internal error"
    way_out: ClassVar[str] = "Retry; if it persists, read the server's log on stderr."
    http_status: ClassVar[int] = 500
    """For people who look at a page; programs read the code."""

    def __init__(self, message: str, *, remedy: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.way_out
        self.data = data


class InvalidInput(CairnError):
    code, number, kind, title = "invalid_input", -32602, "InvalidInputError", "Invalid params"
    way_out = "Correct the named argument and call again."

    def __init__(self, message: str, *, param: str | None = None, remedy: str | None = None, **data: Any) -> None:
        super().__init__(message, remedy=remedy, **({} if param is None else {"param": param}), **data)


class InvalidStrategy(InvalidInput):
    code = "invalid_strategy"
    way_out = "Use one of the strategies the tool's schema lists."


class InvalidMaxTokens(InvalidInput):
    code = "invalid_max_tokens"
    way_out = "Give a positive whole number of tokens inside the bounds of the tool's schema."


class EmptyQuery(InvalidInput):
    number, title = -32004, "Empty query"
    way_out = "Give a query with at least one character that is not white space."


class InvalidPattern(InvalidInput):
    title = "Invalid regex pattern"
    way_out = "Correct the expression; a backslash makes the bracket, dot or star behind it plain text."


class Unreadable(InvalidInput):
    """The path is there and is no text to show: a folder, a binary, a device, or too much of it."""

    title = "Not a readable file"
    way_out = "Name a text file of at most 1 MB."


class AmbiguousSymbol(InvalidInput):
    code, title = "ambiguous_symbol", "Ambiguous symbol"
    way_out = "Call again with one of the qualified names listed."


class Denied(CairnError):
    code, number, kind, title = "workspace_not_allowed", -32602, "PermissionError", "Permission denied"
    way_out = "Name a path inside the project that is neither secret nor internal to git."


class WorkspaceNotRegistered(Denied):
    code = "workspace_not_registered"
    way_out = "Add the workspace to the server's --root list."


class WorkspaceLimitExceeded(Denied):
    code = "workspace_limit_exceeded"
    way_out = "Close or unlink a workspace first."


class RepositoryDenied(CairnError):
    code, kind, title = "workspace_not_allowed", "PermissionError", "Permission denied"
    way_out = "Give the server's user read access to the repository, or mark it as a safe.directory in git's config."


class NotFound(CairnError):
    code, number, kind, title = "file_not_found", -32602, "NotFoundError", "File not found"
    way_out = "Check the spelling; paths are relative to the project root."


class ProjectNotFound(NotFound):
    code, number, title = "project_not_found", -32001, "Project not found"
    way_out = "Start the server inside a project, or name one with --root or CAIRN_ROOT."


class RefNotFound(NotFound):
    code, title = "ref_not_indexed", "Reference not found"
    way_out = "Give a branch, tag or commit that `git rev-parse` knows; fetch it first if it is remote."


class SymbolNotFound(NotFound):
    code, title = "symbol_not_found", "Symbol not found"
    way_out = "Check the spelling, or search for it with search_code."


class ResultNotFound(NotFound):
    code, title = "result_not_found", "Result not found"
    way_out = "Give the path and start line exactly as a search result shows them."


class NotARepository(CairnError):
    code, number, kind, title = "project_not_found", -32001, "GitRepositoryError", "Not a git repository"
    way_out = "Run `git init`, or point the server at a git working tree with --root."


class Busy(CairnError):
    code, number, title = "index_in_progress", -32002, "Indexing in progress"
    way_out = "Wait for the run under way to finish; get_status shows it."


class SyncInProgress(Busy):
    code = "sync_in_progress"


class NotReady(CairnError):
    code, number, title = "index_not_ready", -32003, "Project not indexed"
    way_out = "Run index_codebase first."

    def __init__(self, message: str, *, remedy: str | None = None, **data: Any) -> None:
        """The reason says what to run as well: some clients show nothing else of an error's data."""
        super().__init__(message, remedy=remedy, **data)
        self.data.setdefault("reason", f"{message.rstrip('.')}. {self.remedy}")


class IndexStale(NotReady):
    code = "index_stale"
    way_out = "Run index_codebase to catch up."


class IndexIncompatible(NotReady):
    code = "index_incompatible"
    way_out = "Run index_codebase with force_reindex."


class VersionDamaged(IndexIncompatible):
    """The index of one file cannot be read; the rest can."""

    way_out = "Run index_codebase: it reads that file anew. A server does so by itself."


class OverlayNotReady(NotReady):
    code = "overlay_not_ready"
    way_out = "Retry when the ref has been indexed; index_codebase with `ref` does it now."


class NoEdgesAvailable(NotReady):
    code = "no_edges_available"
    way_out = "Run index_codebase so that references are extracted."


class MergeBaseFailed(CairnError):
    code, title = "merge_base_failed", "No merge base"
    way_out = "Name two refs with common history; in a shallow clone, run `git fetch --unshallow`."


class RateLimited(CairnError):
    kind, title = "RateLimitError", "Rate limit exceeded"
    way_out = "Wait the stated number of seconds."


class TooManyFiles(CairnError):
    title = "Too many open files"
    way_out = "Make fewer calls at a time, or let the server open more files (ulimit -n)."


class TimedOut(CairnError):
    title = "Timed out"
    way_out = "Narrow the request (a path, fewer commits, a smaller range) and call again."


class Cancelled(CairnError):
    title = "Cancelled"
    way_out = "Nothing to do: the caller withdrew the request."


class ParseFailed(CairnError):
    title = "Failed to parse imports"
    way_out = "Read the file without includeDeps, or mend its syntax."


class EncoderFailed(CairnError):
    title = "Embedding failed"
    way_out = "Search by keyword meanwhile; the next index run tries again."


def _tree(root: type[CairnError]) -> list[type[CairnError]]:
    return [root, *(each for child in root.__subclasses__() for each in _tree(child))]


CODES: frozenset[str] = frozenset(error.code for error in _tree(CairnError))
"""The whole string registry; each one has a class above, so each has a remedy."""
