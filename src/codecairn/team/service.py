"""A node's answers: who may ask, which repositories a call is about, and which node has them.

One repository: the call is answered here if the replica is here, else passed on once to a node that has it. Many: each
node is asked for its own (fanout.py), of those that promise most (shortlist.py), and what comes back is merged; a
repository that no node answers for is named in the warnings of an answer that says `partial`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import convert, structs, to_builtins

from codecairn.clock import timestamp
from codecairn.connection import Connection, Connections
from codecairn.context import prompts, resources
from codecairn.errors import CairnError, Denied, InvalidInput, NotReady, ProjectNotFound
from codecairn.page.facts import facts_json
from codecairn.paths import printable
from codecairn.project import Project, Projects
from codecairn.store.discoveries import DiscoveryRow
from codecairn.team.archives import Archives
from codecairn.team.audit import Audit, AuditRow
from codecairn.team.cross_references import reach_across
from codecairn.team.directory import Directory
from codecairn.team.fanout import FanOut
from codecairn.team.merging import Parts, merge
from codecairn.team.notebook import Notebook
from codecairn.team.offered_tools import FANNED, UNBOUND, WRITING, ListedRepository, RepositoryList
from codecairn.team.peers import (
    NodeQuestion,
    NodeSilent,
    Peers,
    WireReply,
    error_of,
    is_elsewhere,
    tool_reply,
    wire_error,
    wire_reply,
    wire_value,
)
from codecairn.team.replication import Replicas
from codecairn.team.replies import is_absence, not_ready, project_in, refusal, rename_root
from codecairn.team.repositories import TeamRepository
from codecairn.team.scouts import ScoutQuestion, ScoutReport
from codecairn.team.short_questions import KINDS, Looks, OneProject
from codecairn.team.shortlist import choose
from codecairn.team.team_call import TeamCall
from codecairn.team.tokens import Caller
from codecairn.tools import Call, Registry
from codecairn.tools.families import FAMILIES, AnswerForm, ToolReply

log = logging.getLogger("codecairn.team")

_REMEMBERING = frozenset({"remember", "forget"})
_MOST_FANNED = 1000
Wire = Callable[[str, ToolReply], WireReply]


class TeamAnswers:
    def __init__(
        self, node: str, inner: Registry, directory: Directory, replicas: Replicas, notebook: Notebook, audit: Audit,
        peers: Peers, archives: Archives,
    ) -> None:  # fmt: skip
        self.node, self.inner = node, inner
        self._directory, self._replicas, self._notebook = directory, replicas, notebook
        self._audit, self._peers, self._archives = audit, peers, archives
        self._limits = Connections()
        self._fan_out, self._looks = FanOut(), Looks(replicas, inner)

    # A caller's question.

    def answer(self, call: TeamCall) -> ToolReply:
        """Answer a tool call, whatever comes of it; it is audited before anybody reads the answer."""
        began = time.perf_counter()
        about = ""
        try:
            self._allow(call)
            about, reply = self._choose(call)
        except CairnError as error:
            about, reply = self._readable_name(call), refusal(call.tool, call.answers, error)
        except Exception as error:  # the edge of a node: a bug is logged and said, and the caller is told no more
            log.exception("%s failed, request %s", call.tool.name, call.request)
            reply = refusal(call.tool, call.answers, CairnError(f"{type(error).__name__} in request {call.request}"))
        self._note(call, about, reply, (time.perf_counter() - began) * 1000)
        return reply

    def _readable_name(self, call: TeamCall) -> str:
        """The repository that a refused call named, if the caller may read it."""
        named = call.given.get("project")
        return next((each.name for each in self.readable(call.caller) if each.name == named), "")

    def _allow(self, call: TeamCall) -> None:
        tool = call.tool
        if not self._directory.is_read:
            raise NotReady("This node has not read the team's record yet", remedy="Call again in a moment.")
        if tool.per_minute is not None:
            self._limits.get(f"token:{call.caller.id}").count(tool.name, tool.per_minute)

    def _choose(self, call: TeamCall) -> tuple[str, ToolReply]:
        if call.tool.name == "list_repositories":
            return "", self._list(call)
        given = dict(call.given)
        several, project = given.pop("repositories", None), project_in(call.tool, given)
        call = replace(call, arguments=given if isinstance(call.arguments, dict) else call.arguments)
        is_many = call.tool.name in FANNED and project is None
        if several is not None and not is_many:
            reason = "not beside project, and only on " + ", ".join(sorted(FANNED))
            raise InvalidInput(f"repositories: {reason}", param="repositories", reason=reason)
        if is_many and (several is not None or len(self._directory.state.readable(call.caller)) != 1):
            return str(several or "**"), self._ask_many(call, several or "**")
        if call.tool.name in UNBOUND:
            return "", self._run(call, OneProject(Project(Path())))
        repository = self._directory.state.find(call.caller, project)
        if call.tool.name in WRITING and not call.caller.may_write(repository.name):
            raise Denied(f"{call.tool.name} is for writers; you read here", remedy="Ask for a writer's token.")
        return repository.name, self._ask_one(call, repository)

    def _list(self, call: TeamCall) -> ToolReply:
        glob, state = call.given.get("glob", "**"), self._directory.state
        if not isinstance(glob, str):
            raise InvalidInput("glob: expected a text", param="glob")
        rows = [
            ListedRepository(
                repository=each.name, default_branch=each.default_branch, state=each.state,
                nodes_ready=len(state.holders(each)),
            )
            for each in state.readable(call.caller, glob)
        ]  # fmt: skip
        value = RepositoryList(repositories=rows, total=len(rows), metadata={})
        form = AnswerForm({}, printer=call.tool.reading if call.answers != "json" else None)
        return FAMILIES[call.tool.family].success(value, form)

    def _ask_one(self, call: TeamCall, repository: TeamRepository) -> ToolReply:
        for node in self._holders(repository, self.node):
            try:
                (reply,) = self._ask_node(node, [repository], call)
            except NodeSilent as error:
                log.warning("%s", error.message)
            else:
                if not is_elsewhere(reply):
                    return tool_reply(reply)
        raise not_ready(repository)

    def _holders(self, repository: TeamRepository, first: str = "") -> list[str]:
        """The nodes to ask. This one knows what it has, also where the record does not (yet, or any more)."""
        known = self._directory.state.holders(repository, first)
        return [*known, self.node] if self.node not in known and repository.id in self._replicas.ready else known

    def _ask_node(
        self, node: str, repositories: Sequence[TeamRepository], call: TeamCall, wire: Wire = wire_reply
    ) -> list[WireReply]:
        if node == self.node:
            return [wire(each.name, self._run_here(call, each)) for each in repositories]
        return self._pass_on(node, call, repositories)

    def _pass_on(
        self, node: str, call: TeamCall, repositories: Sequence[TeamRepository], kind: str = "call"
    ) -> list[WireReply]:
        question = NodeQuestion(
            kind=kind, name=call.tool.name, arguments=call.arguments, caller=call.caller, answers=call.answers,
            repositories=[each.name for each in repositories], request=call.request,
        )  # fmt: skip
        return self._ask_peer(node, question)

    def _ask_peer(self, node: str, question: NodeQuestion) -> list[WireReply]:
        known = self._directory.state.nodes.get(node)
        if known is None:
            raise NodeSilent(f"The node {node} is gone")
        return self._peers.ask(known.url, question)

    def _ask_many(self, call: TeamCall, glob: str) -> ToolReply:
        if not isinstance(glob, str):
            raise InvalidInput("repositories: expected a text", param="repositories")
        if call.given.get("cursor") is not None:
            raise InvalidInput("cursor: pages are of one repository", param="cursor", remedy="Give `project` too.")
        state = self._directory.state
        wanted = state.readable(call.caller, glob)[:_MOST_FANNED]
        if not wanted:
            raise ProjectNotFound(f"No repository matches {printable(glob)}", param="repositories")
        listed = choose(call.tool.name, call.given, wanted, partial(self._scout, call))
        gathered = self._fan_out.gather(
            listed.chosen, self._holders, partial(self._ask_node, call=call, wire=wire_value)
        )
        replies, warnings = {name: tool_reply(each) for name, each in gathered.replies.items()}, list[str]()
        if call.tool.name == "find_references" and call.given.get("ref") is None:
            values = {name: each.value for name, each in replies.items() if each.error is None}
            values, warnings = reach_across(call.given, wanted, values, partial(self._look, call))
            replies |= {name: replace(replies[name], value=value) for name, value in values.items()}
        return self._merge(call, replies, gathered.silent, listed.passed_over, warnings)

    def _look(
        self, call: TeamCall, kind: str, repositories: Sequence[TeamRepository], asked: Any
    ) -> dict[str, dict[str, Any]]:
        """The answers to a short question, by repository; whoever does not answer is not among them."""

        def ask(node: str, group: Sequence[TeamRepository]) -> list[WireReply]:
            if node == self.node:
                return [self._looks.answer(kind, asked, each) for each in group]
            return self._pass_on(node, replace(call, arguments=to_builtins(asked)), group, kind)

        found = self._fan_out.gather(repositories, self._holders, ask).replies
        return {name: each.value for name, each in found.items() if each.error is None}

    def _scout(
        self, call: TeamCall, repositories: Sequence[TeamRepository], asked: ScoutQuestion
    ) -> dict[str, ScoutReport]:
        found = self._look(call, "scout", repositories, asked)
        return {name: convert(value, ScoutReport) for name, value in found.items()}

    def _merge(
        self, call: TeamCall, replies: Mapping[str, ToolReply], silent: Mapping[str, str], passed_over: int,
        remarks: Sequence[str],
    ) -> ToolReply:  # fmt: skip
        """One answer of many. A repository that has no such symbol adds nothing; if all of them fail, the first says
        why."""
        found = {name: each.value for name, each in sorted(replies.items()) if each.error is None}
        failed = {name: each for name, each in sorted(replies.items()) if each.error is not None}
        if not found and failed:
            return next(iter(failed.values()))
        if not found:
            raise NotReady(
                "None of these repositories is ready", details=[f"{name}: {why}" for name, why in silent.items()]
            )
        broken = {
            name: each.error.message for name, each in failed.items() if each.error and not is_absence(each.error)
        }
        warnings = [f"{name} was not searched: {why}" for name, why in {**silent, **broken}.items()]
        without, is_partial = len(failed) - len(broken), bool(silent or broken)
        parts = Parts(found, without, [*warnings, *remarks], is_partial=is_partial, passed_over=passed_over)
        return merge(call.tool, parts, call.given, call.answers)

    def prepare(self, repository: TeamRepository) -> None:
        """Open what the first question about a replica would wait for."""
        self._looks.answer("scout", ScoutQuestion(), repository)

    # Another node's question, and what is answered here.

    def answer_node(self, question: NodeQuestion) -> list[WireReply]:
        """Answer a question that another node passes on, about repositories that are ready here."""
        state = self._directory.state
        return [self._answer_for_node(question, state.find(question.caller, name)) for name in question.repositories]

    def _answer_for_node(self, question: NodeQuestion, repository: TeamRepository) -> WireReply:
        if question.kind in KINDS:
            return self._looks.answer(question.kind, question.arguments, repository)
        if question.kind != "call":
            return self._page_for_node(question, repository)
        call = TeamCall(
            self.inner.tools[question.name], question.arguments, question.caller, question.answers, question.request
        )
        try:
            return wire_reply(repository.name, self._run_here(call, repository))
        except CairnError as error:
            return wire_reply(repository.name, refusal(call.tool, call.answers, error))

    def _page_for_node(self, question: NodeQuestion, repository: TeamRepository) -> WireReply:
        try:
            return WireReply(repository=repository.name, text=self._page_here(question, repository))
        except CairnError as error:
            return WireReply(repository=repository.name, error=wire_error(error))

    def _run_here(self, call: TeamCall, repository: TeamRepository) -> ToolReply:
        if repository.id not in self._replicas.ready:
            return refusal(call.tool, call.answers, not_ready(repository))
        project = self._replicas.project_of(repository)
        before = project.discoveries.all() if call.tool.name in _REMEMBERING else []
        reply = rename_root(self._run(call, OneProject(project)), str(project.root), repository.name)
        if reply.error is not None:
            return reply
        if call.tool.name == "usage_track" and "usageCount" in reply.value:
            return self._share_use(repository, project, reply)
        if call.tool.name in _REMEMBERING:
            self._share(call, repository, project, reply, before)
        return reply

    def _run(self, call: TeamCall, projects: Projects) -> ToolReply:
        connection = Connection(f"request:{call.request}", lasts=False)
        local = Call(
            projects, connection, self.inner, call.door, cancel=call.cancel, report=call.report, answers=call.answers
        )
        tool = replace(self.inner.tools[call.tool.name], per_minute=None)
        return self.inner.call(tool, local, call.arguments)

    def _share(
        self, call: TeamCall, repository: TeamRepository, project: Project, reply: ToolReply, before: list[DiscoveryRow]
    ) -> None:
        """Record for all nodes what a call has written here; where that cannot be done, it is undone."""
        identity = reply.value["discovery"]["id"] if call.tool.name == "remember" else reply.value["id"]
        row = project.discoveries.get(identity)
        if row is not None:
            row = structs.replace(row, session=call.caller.name)
            project.discoveries.put([row])
        try:
            self._notebook.write(repository.id, identity, row, call.caller.name)
        except CairnError:
            project.discoveries.remove(identity)
            project.discoveries.put([each for each in before if each.id == identity])
            raise

    def _share_use(self, repository: TeamRepository, project: Project, reply: ToolReply) -> ToolReply:
        count, last = self._notebook.count_use(repository.id, reply.value["id"], reply.value["lastUsedAt"])
        project.memory.set_usage([(reply.value["id"], count, last)])
        value = {**reply.value, "usageCount": count, "lastUsedAt": last}
        return replace(reply, value=value, cut=lambda: {**reply.structured, "usageCount": count, "lastUsedAt": last})

    # Pages.

    def page(self, kind: str, name: str, arguments: Mapping[str, Any], caller: Caller, project: str | None) -> str:
        """A resource, a prompt or a fact of one repository, from a node that has it."""
        repository = self._directory.state.find(caller, project)
        question = NodeQuestion(
            kind=kind, name=name, arguments=dict(arguments), repositories=[repository.name], caller=caller,
            answers="json", request="",
        )  # fmt: skip
        for node in self._holders(repository, self.node):
            with suppress(NodeSilent):
                is_here = node == self.node
                wire = self._page_for_node(question, repository) if is_here else self._ask_peer(node, question)[0]
                if wire.error is None:
                    return wire.text
                if not is_elsewhere(wire):
                    raise error_of(wire.error)
        raise not_ready(repository)

    def _page_here(self, question: NodeQuestion, repository: TeamRepository) -> str:
        if repository.id not in self._replicas.ready:
            raise not_ready(repository)
        project, name, arguments = self._replicas.project_of(repository), question.name, question.arguments
        call = Call(OneProject(project), Connection("page", lasts=False), self.inner, "http")
        if question.kind == "fact":
            text = facts_json(call, project, name, arguments)
        elif question.kind == "resource":
            text = resources.read(call, name)
        else:
            text = prompts.prompt_text(call, name, arguments)
        return text.replace(str(project.root), repository.name)

    def archive(self, caller: Caller, project: str | None, remote: str | None) -> Path:
        """What is indexed of a repository, as one file; by its name, or by the address it is cloned from."""
        state = self._directory.state
        is_named = project is not None or remote is None
        repository = state.find(caller, project) if is_named else state.find_remote(caller, remote or "")
        if repository.id in self._replicas.ready:
            return self._archives.get(repository, self._replicas.project_of(repository))
        question = NodeQuestion(
            kind="archive", name="", arguments={}, repositories=[repository.name], caller=caller, answers="json",
            request="",
        )  # fmt: skip
        for node in state.holders(repository):
            with suppress(NodeSilent):
                return self._archives.take(repository, partial(self._peers.fetch, state.nodes[node].url, question))
        raise not_ready(repository)

    def archive_for_node(self, question: NodeQuestion) -> Path:
        """The archive that another node passes on; it must be ready here."""
        repository = self._directory.state.find(question.caller, question.repositories[0])
        if repository.id not in self._replicas.ready:
            raise not_ready(repository)
        return self._archives.get(repository, self._replicas.project_of(repository))

    def readable(self, caller: Caller) -> list[TeamRepository]:
        return self._directory.state.readable(caller)

    def _note(self, call: TeamCall, about: str, reply: ToolReply, ms: float) -> None:
        outcome = reply.error.code if reply.error else "ok"
        self.audit(call.caller, call.request, call.tool.name, about, outcome, len(reply.text), ms, call.door)
        facts = {
            "request": call.request, "tool": call.tool.name, "repository": about, "outcome": outcome,
            "duration": round(ms, 2), "node": self.node, "token": call.caller.name, "door": call.door,
        }  # fmt: skip
        said = (call.tool.name, about or "-", outcome, ms, call.request)
        log.info("%s %s %s %.1f ms, request %s", *said, extra={"facts": facts})

    def audit(
        self, caller: Caller, request: str, tool: str, about: str, outcome: str, size: int, ms: float = 0.0,
        door: str = "",
    ) -> None:  # fmt: skip
        row = (timestamp(), request, caller.name, tool, about, outcome, size, self.node, caller.id, ms, door)
        self._audit.write(AuditRow(*row))

    def close(self) -> None:
        self._fan_out.close()
        self._peers.close()
