"""One of the eight that call a server at a time: it draws a call, makes it, and judges the answer."""

from __future__ import annotations

import json
import random
import time
import traceback
from typing import TYPE_CHECKING, Any

import jsonschema

from codecairn import tools
from tests.soak.calls import INVALID, MINGLED, RANKED
from tests.soak.ledger import markers_of
from tests.soak.reference import (
    ROOT,
    Asked,
    comparable,
    cursor_of,
    differences,
    error_code,
    is_unready,
    shared_results,
)
from tests.soak.result import Known
from tests.soak.servers import Died, NoAnswer, Server
from tests.support.doors import Answer

if TYPE_CHECKING:
    from tests.soak.trial import Trial

TOOLS = tools.standard().tools
ENTRIES = [*TOOLS, "resource", "prompt"]
_SCHEMA_SHARE, _INVALID_SHARE, _FIXED_SHARE = 0.05, 0.06, 0.6


class Worker:
    """One of the eight that call a server at a time."""

    def __init__(self, trial: Trial, server: Server, number: int) -> None:
        self._trial = trial
        self._server = server
        self._choice = random.Random(f"worker {trial.plan.seed} {server.name} {number}")
        self._result = trial.result
        self._root = trial.scenery.root

    def run(self) -> None:
        while (number := self._trial.next()) is not None:
            process = self._server.process
            try:
                self._step(number)
            except Died:
                self._server.revive(process)
            except NoAnswer as error:
                self._result.unanswered.append(f"call {number}: {error}")
            except Exception:  # noqa: BLE001 - an answer that the soak itself cannot read fails it
                self._result.faults.append(f"call {number}:\n{traceback.format_exc()}")

    def _step(self, number: int) -> None:
        entry = self._choice.choice(ENTRIES)
        if entry == "resource":
            return self._read_resource(number)
        if entry == "prompt":
            return self._get_prompt(number)
        if not self._server.may(entry):
            return self._step(number)
        roll = self._choice.random()
        invalid = [each for each in INVALID if each.tool == entry]
        if invalid and roll < _INVALID_SHARE:
            return self._call_invalid(number, self._choice.choice(invalid))
        known = self._known(entry)
        if known and roll < _INVALID_SHARE + _FIXED_SHARE:
            return self._call_known(number, self._choice.choice(known))
        return self._call_live(number, entry)

    def _known(self, tool: str) -> list[Known]:
        known = self._trial.known.get(tool, [])
        if tool == "read_file" and self._server.reads_only_lobby:
            return [each for each in known if each.asked.arguments["path"] == self._trial.lobby]
        return known

    def _ask(self, number: int, asked: Asked) -> Answer:
        self._result.calls[asked.tool] += 1
        began = time.monotonic()
        try:
            answer = self._server.call(asked.tool, asked.on(self._root))
        except NoAnswer as error:
            raise NoAnswer(f"{error} {asked}") from error
        slowest = self._result.slowest
        slowest[asked.tool] = max(slowest.get(asked.tool, 0.0), time.monotonic() - began)
        self._check_form(number, asked, answer)
        return answer

    # Form: an answer of the tool, or an error of its family that is no failure of ours.

    def _check_form(self, number: int, asked: Asked, answer: Answer) -> None:
        if answer.is_error:
            code = error_code(answer)
            self._result.errors[f"{asked.tool} {code}"] += 1
            if code in ("internal_error", "-32603", "none") and not _is_refusal(answer):
                self._wrong(number, asked, "an internal error", answer, None)
        if self._choice.random() < _SCHEMA_SHARE and answer.rpc_error is None:
            try:
                jsonschema.validate(answer.value, TOOLS[asked.tool].output_schema)
            except jsonschema.ValidationError as error:
                self._wrong(number, asked, f"not of its schema: {error.message[:300]}", answer, None)

    def _wrong(self, number: int, asked: Asked, why: str, got: Answer, wanted: Any) -> None:
        self._trial.note_wrong(
            call=number, server=self._server.name, tool=asked.tool, arguments=asked.arguments, why=why,
            got=got.value or got.text, wanted=wanted,
        )  # fmt: skip

    def _call_invalid(self, number: int, asked: Asked) -> None:
        answer = self._ask(number, asked)
        self._result.judged["refused"] += 1
        if not answer.is_error and asked.tool != "forget":
            self._wrong(number, asked, "accepted an invalid call", answer, None)

    # Refs that never move: what a fresh index of the commit says.

    def _call_known(self, number: int, known: Known) -> None:
        asked = known.asked
        for page in range(len(known.pages)):
            answer = self._ask(number, asked)
            if not self.compare(known, page, answer, f"page {page}", number):
                return
            if "cut" in answer.value or "cut" in known.pages[page].value:
                return  # the next page begins where this one had no more room, which hangs on what is masked
            asked = Asked(asked.tool, {**known.asked.arguments, "cursor": cursor_of(answer.value)})

    def compare(self, known: Known, page: int, answer: Answer, when: str, number: int = 0) -> bool:
        """Whether the answer was compared and is right."""
        if is_unready(answer):
            self._result.judged["not compared: not indexed"] += 1
            return False
        if _is_refusal(answer):
            self._result.judged["not compared: over a rate limit"] += 1
            return False
        found = self._differences(known, page, answer)
        self._result.judged["compared"] += 1
        if found:
            self._wrong(number, known.asked, f"{when}: {'; '.join(found)}", answer, known.pages[page].value)
        return not found

    def _differences(self, known: Known, page: int, answer: Answer) -> list[str]:
        tool, truth = known.asked.tool, known.pages[page]
        if not answer.is_error and answer.value.get("metadata", {}).get("freshness_status") == "stale":
            return ["stale, of what cannot change"]
        is_loose = tool in MINGLED or (tool in RANKED and not self._server.reads_only_lobby)
        if not is_loose or answer.is_error or truth.is_error:
            if is_loose and tool == "explain_ranking":
                return []
            return differences(comparable(known.asked, answer, self._root), known.compared[page])
        got, wanted = shared_results(tool, answer.value), shared_results(tool, truth.value)
        return differences(
            {name: each for name, each in got.items() if name in wanted},
            {name: each for name, each in wanted.items() if name in got},
        )

    # The working tree: what was on disk while the call was under way.

    def _call_live(self, number: int, tool: str) -> None:
        if tool == "switch_ref":
            return self._switch(number)
        asked = self._live(tool)
        start = time.monotonic()
        answer = self._ask(number, asked)
        end = time.monotonic()
        if tool == "remember" and not answer.is_error:
            self._trial.remember(str(answer.value["discovery"]["id"]))
        ref = self._server.ref_during(start, end)
        if ref is not None:
            self._judge_live(number, asked, answer, ref, start, end)
        return None

    def _switch(self, number: int) -> None:
        if not self._server.switching.acquire(blocking=False):
            return self._step(number)
        try:
            fixed = [each.name for each in self._trial.scenery.fixed]
            ref = self._choice.choice(["live"] * 2 * len(fixed) + fixed)
            sent = time.monotonic()
            self._server.switches.append((sent, float("inf"), ref))
            answer = self._ask(number, Asked("switch_ref", {"ref": ref}))
            if answer.is_error:
                self._server.switches.pop()
            else:
                self._server.switches[-1] = (sent, time.monotonic(), ref)
        finally:
            self._server.switching.release()
        return None

    def _live(self, tool: str) -> Asked:
        choice, trial = self._choice, self._trial
        marker = self._marker()
        path = choice.choice(trial.ledger.marked() or [trial.lobby])
        fixed = choice.choice(trial.scenery.fixed).name
        made: dict[str, dict[str, Any]] = {
            "git_blame": {"filePath": path},
            "context_search": {"query": f"where is {marker}"},
            "read_file": {"path": trial.lobby if self._server.reads_only_lobby else path},
            "grep_codebase": {"pattern": f"def {marker}"},
            "index_codebase": choice.choice([{"path": ROOT}, {"path": ROOT, "ref": fixed}]),
            "get_status": {"path": ROOT},
            "search_code": {"path": ROOT, "query": marker, "search_mode": "keyword"},
            "usage_track": {"id": f"rule-{choice.randrange(12)}"},
            "remember": {"type": "decision", "content": f"Call after call, {marker} was worth a note.", "path": path},
            "forget": {"id": trial.remembered() or "no-such-discovery"},
            "diff_context": choice.choice([{"head_ref": "live"}, {}, {"base_ref": fixed}]),
            "find_references": {"symbol_name": marker},
            "explain_ranking": {"query": marker, "result_path": path, "result_line_start": choice.randint(1, 40)},
            "find_symbol": {"symbol_name": marker},
            "get_call_graph": {"symbol_name": marker},
            "get_file_outline": {"path": path, "limit": 2000},
            "build_context_pack": {"task": f"mend {marker}"},
            "instructions_get": {"id": "rule-1"},
            "instructions_search": {"q": "care"},
            "prompt_review": {"prompt": marker},
        }
        if tool == "index_codebase" and choice.random() < 0.02:
            return Asked(tool, {"path": ROOT, "force_reindex": True})
        return Asked(tool, made.get(tool, {}))

    def _marker(self) -> str:
        markers = self._trial.ledger.markers()
        roll = self._choice.random()
        if roll < 0.1 or not markers:
            return f"soakmark_9{self._choice.randrange(10**5):05d}"
        return self._choice.choice(markers[-30:] if roll < 0.7 else markers)

    def _judge_live(self, number: int, asked: Asked, answer: Answer, ref: str, start: float, end: float) -> None:
        if asked.tool == "read_file":
            return self._judge_read(number, asked, answer, ref, start, end)
        if asked.tool == "get_file_outline":
            return self._judge_outline(number, asked, answer, ref, start, end)
        marker = _marker_of(asked)
        if marker is None:
            return None
        claims = self._claims(asked, answer, marker)
        if claims is None:
            return None
        seen = self._trial.ledger.marker(marker, start, end) if ref == "live" else "absent"
        self._result.judged["live" if seen != "unsure" else "live, unsure"] += 1
        if seen != "unsure" and claims != seen:
            self._wrong(number, asked, f"{marker} was {seen} all the time in {ref}", answer, None)
        return None

    def _claims(self, asked: Asked, answer: Answer, marker: str) -> str | None:
        """Whether an answer says that a marker is there; None where it claims nothing."""
        if asked.tool == "grep_codebase":
            return None if answer.is_error else "present" if answer.value["totalMatches"] else "absent"
        metadata = answer.value.get("metadata") or {}
        if metadata.get("freshness_status") != "fresh" or metadata.get("result_completeness") == "partial":
            return None
        if asked.tool == "search_code" and not answer.is_error:
            named = [each["symbol"]["name"] for each in answer.value["results"] if each["symbol"]]
            return "present" if marker in named else "absent"
        if asked.tool == "find_symbol" and not answer.is_error:
            return "present" if marker in [each["name"] for each in answer.value["symbols"]] else "absent"
        if asked.tool in ("find_references", "get_call_graph", "find_symbol"):
            code = error_code(answer) if answer.is_error else ""
            return "absent" if code == "symbol_not_found" else "present" if code in ("", "ambiguous_symbol") else None
        return None

    def _judge_read(self, number: int, asked: Asked, answer: Answer, ref: str, start: float, end: float) -> None:
        contents = self._trial.ledger.contents(asked.arguments["path"], start, end) if ref == "live" else None
        if contents is None or _is_refusal(answer):
            return
        self._result.judged["live"] += 1
        if answer.is_error:
            if error_code(answer) == "workspace_not_allowed":  # a secret by its name
                return
            if not any(each is None or b"\0" in each for each in contents):
                self._wrong(number, asked, "the file was there all the time", answer, None)
        elif len(contents) == 1 and not _is_content(answer.value, contents[0]):
            self._wrong(number, asked, "the file never had this content", answer, str(contents[0]))

    def _judge_outline(self, number: int, asked: Asked, answer: Answer, ref: str, start: float, end: float) -> None:
        metadata = answer.value.get("metadata") or {}
        contents = self._trial.ledger.contents(asked.arguments["path"], start, end) if ref == "live" else None
        if contents is None or answer.is_error or metadata.get("freshness_status") != "fresh":
            return
        self._result.judged["live"] += 1
        named = [each["name"] for file in answer.value["files"] for each in file["symbols"]]
        got = sorted(each for each in named if each.startswith("soakmark_"))
        if got not in [sorted(markers_of(each)) for each in contents]:
            self._wrong(number, asked, f"the file never held {got}", answer, [markers_of(each) for each in contents])

    # Resources and prompts.

    def _read_resource(self, number: int) -> None:
        folder = self._trial.lobby.rpartition("/")[0]
        pages = ["project/overview", f"module/{folder}", "session/current", "sessions/recent", "module/none-such"]
        self._request(number, "resource", "resources/read", {"uri": f"context://{self._choice.choice(pages)}"})

    def _get_prompt(self, number: int) -> None:
        fixed = [each.name for each in self._trial.scenery.fixed]
        given = self._choice.choice([{}, {"base": self._choice.choice(fixed), "head": self._choice.choice(fixed)}])
        name = "review-branch" if given else self._choice.choice(["onboard", "review-branch"])
        self._request(number, "prompt", "prompts/get", {"name": name, "arguments": given})

    def _request(self, number: int, entry: str, method: str, params: dict[str, Any]) -> None:
        self._result.calls[entry] += 1
        message = self._server.request(method, params)
        if "error" in message:
            code = message["error"]["code"]
            self._result.errors[f"{entry} {code}"] += 1
            if code == -32603:
                answer = Answer(json.dumps(message["error"]), {}, True, message["error"])
                self._wrong(number, Asked(entry, params), "an internal error", answer, None)


def _marker_of(asked: Asked) -> str | None:
    given = asked.arguments.get("symbol_name") or asked.arguments.get("query") or asked.arguments.get("pattern") or ""
    found = str(given).removeprefix("def ")
    return found if found.startswith("soakmark_") else None


def _is_refusal(answer: Answer) -> bool:
    return answer.is_error and ("retryAfter" in answer.text or "retryAfter" in json.dumps(answer.value))


def _is_content(value: dict[str, Any], content: bytes | None) -> bool:
    """Whether what read_file shows is a file's content, or as much of it as there was room for."""
    shown = value["file"]["content"].encode()
    return content is not None and (content.startswith(shown) if "cut" in value else content == shown)
