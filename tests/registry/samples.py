"""A sample tool of each family, which answers in any form and fails in any way asked for, and three that take paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from jsonschema import Draft202012Validator
from msgspec import Meta, Struct

from codecairn.errors import CairnError
from codecairn.tools import Call, Registry, Tool, tool
from codecairn.tools.families import FAMILIES
from codecairn.types import CamelStruct
from tests.support.doors import Answer


class Found(CamelStruct, frozen=True, kw_only=True):
    items: list[str]
    total: int
    note: str | None = None


class NotThere(CamelStruct, frozen=True, kw_only=True):
    not_found: Literal[True]
    hash: str


class Truncated(CamelStruct, frozen=True, kw_only=True):
    truncated: Literal[True]
    message: str
    max: int


class NotConfigured(CamelStruct, frozen=True, kw_only=True):
    not_configured: Literal[True]


class UpToDate(CamelStruct, frozen=True, kw_only=True):
    up_to_date: Literal[True]
    hash: str


Answers = Found | NotThere | Truncated | NotConfigured | UpToDate

FORMS: dict[str, Answers] = {
    "found": Found(items=["a", "b"], total=2),
    "notFound": NotThere(not_found=True, hash="0" * 64),
    "truncated": Truncated(truncated=True, message="too long", max=10_000),
    "notConfigured": NotConfigured(not_configured=True),
    "upToDate": UpToDate(up_to_date=True, hash="0" * 64),
}


def _tree(root: type[CairnError]) -> list[type[CairnError]]:
    return [root, *(each for child in root.__subclasses__() for each in _tree(child))]


ERRORS = {error.__name__: error for error in _tree(CairnError) if error.__module__ == CairnError.__module__}
"""Of the tree itself: what a module refines for its own use is told as what it refines."""
BUG = "bug"

Form = Annotated[
    Literal["found", "notFound", "truncated", "notConfigured", "upToDate"], Meta(description="Which form to answer in")
]
Fault = Annotated[str | None, Meta(description="Which error to end in instead")]
Limit = Annotated[int, Meta(ge=1, le=20, description="Most results (default 5)")]


class Filters(Struct, forbid_unknown_fields=True):
    size: Annotated[int, Meta(ge=0)]
    kinds: list[Literal["function", "class"]] = []


SAMPLES: list[Tool] = []


def name_of(family: str) -> str:
    return f"sample_{family}"


def _heading(value: Answers, params: Mapping[str, Any]) -> str:
    return f"# Sample\n\n{value}, {params['limit']} at most"


def _declare(family: str) -> None:
    def sample(call: Call, *, form: Form = "found", fault: Fault = None, limit: Limit = 5) -> Answers:
        """A tool of the tests. Use it to see what an envelope does."""
        if fault == BUG:
            raise ZeroDivisionError("a bug of the sample's")
        if fault is not None:
            raise ERRORS[fault]("the sample was told to fail", place="sample")
        return FORMS[form]

    sample.__name__ = name_of(family)
    markdown = _heading if family == "history" else None
    method = "sample/catalog" if family == "catalog" else None
    tool(family=family, method=method, markdown=markdown, into=SAMPLES)(sample)


for _family in FAMILIES:
    _declare(_family)


class Content(CamelStruct, frozen=True, kw_only=True):
    path: str
    content: str


class Opened(CamelStruct, frozen=True, kw_only=True):
    root: str


@tool(family="files", into=SAMPLES)
def sample_read(call: Call, *, path: Annotated[str, Meta(description="Which file to read")]) -> Content:
    """Use it to see what the path guard lets through."""
    inside = call.project.guard.inside(path)
    return Content(path=inside, content=(call.project.root / inside).read_text(encoding="utf-8"))


@tool(family="index", into=SAMPLES)
def sample_index_root(call: Call, *, path: Annotated[str, Meta(description="An absolute project root")]) -> Opened:
    """Use it to see which roots the index tools accept."""
    return Opened(root=str(call.projects.project_at(path, param="path").root))


@tool(family="refs", into=SAMPLES)
def sample_refs_root(
    call: Call, *, workspace: Annotated[str | None, Meta(description="An absolute project root")] = None
) -> Opened:
    """Use it to see which roots the ref tools accept."""
    project = call.project if workspace is None else call.projects.project_at(workspace, param="workspace")
    return Opened(root=str(project.root))


@tool(family="index", into=SAMPLES)
def sample_nested(
    call: Call,
    *,
    sizes: Annotated[list[int] | None, Meta(description="Whole numbers")] = None,
    filters: Annotated[Filters | None, Meta(description="An object within the arguments")] = None,
    ratio: Annotated[float, Meta(ge=0, le=1, description="A share")] = 0.5,
) -> Found:
    """Use it to see arguments within arguments checked."""
    return Found(items=[], total=sum(sizes or []) + (filters.size if filters else 0))


def registry() -> Registry:
    built = Registry()
    for each in SAMPLES:
        built.add(each)
    return built


def schemas(declared: Tool) -> tuple[Draft202012Validator, Draft202012Validator]:
    return Draft202012Validator(declared.output_schema), Draft202012Validator(declared.short_output_schema)


def assert_conforms(declared: Tool, answer: Answer) -> None:
    """The structured half validates, against the whole schema and against the one that tools/list carries."""
    for schema in schemas(declared):
        schema.validate(answer.value)


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
