"""The unit, the compose file and the manifests: well formed, of one mind, and of commands that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from codecairn.cli.team import DEFAULT_ADDRESS, command

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "packaging" / "team"
PORT = int(DEFAULT_ADDRESS.rpartition(":")[2])
ROLES = ("up", "node", "work")
OF_OTHERS = {"CAIRN_OPTIONS", "CAIRN_DATABASE_PASSWORD", "CAIRN_HOST", "POD_IP"}
"""Variables that systemd, compose and Kubernetes put into a command; Cairn does not read them."""


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text_of("kubernetes.yaml")))


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(text_of("compose.yaml"))
    return loaded


def deployments() -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "Deployment"}


def containers() -> Iterator[dict[str, Any]]:
    for spec in deployments().values():
        yield from spec["template"]["spec"]["containers"]


def unit() -> dict[str, list[tuple[str, str]]]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in text_of("cairn-team@.service").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            sections[header[1]] = []
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            sections[list(sections)[-1]].append((key, value))
    return sections


def dockerfile() -> list[tuple[str, str]]:
    joined = text_of("Dockerfile").replace("\\\n", " ")
    return [(verb, rest) for verb, _, rest in (line.partition(" ") for line in joined.splitlines()) if verb.isupper()]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line that these files start, from the role on."""
    for name, service in compose()["services"].items():
        if name != "database":
            yield f"compose {name}", service["command"]
    for container in containers():
        yield f"kubernetes {container['name']}", container["args"]
    (start,) = (value for key, value in unit()["Service"] if key == "ExecStart")
    for role in ROLES:
        words = [each for each in shlex.split(start.replace("%i", role)) if each != "$CAIRN_OPTIONS"]
        assert words[:2] == ["/usr/local/bin/cairn", "team"]
        yield f"systemd {role}", words[2:]
    yield "image", yaml.safe_load(dict(dockerfile())["CMD"])


@pytest.mark.parametrize(("where", "words"), list(commands()), ids=lambda each: each if isinstance(each, str) else "")
def test_every_command_is_one_that_cairn_team_has(where: str, words: list[str]) -> None:
    role, *options = (str(each) for each in words)
    assert role in ROLES
    assert isinstance(command, click.Group)
    with command.commands[role].make_context(role, list(options)) as context:
        if role != "work" and not where.startswith("systemd"):
            assert context.params["address"] == f"0.0.0.0:{PORT}"


def test_roles_are_spread_as_their_names_say() -> None:
    started = {where: words[0] for where, words in commands()}
    assert started == {
        "compose node": "node", "compose worker": "work", "kubernetes node": "node", "kubernetes worker": "work",
        "systemd up": "up", "systemd node": "node", "systemd work": "work", "image": "up",
    }  # fmt: skip


def test_the_options_that_an_administrator_is_told_to_give_are_there() -> None:
    shown = {"node": ["--http", "--allow-host"], "up": ["--http", "--allow-host"]}
    for role, names in shown.items():
        assert {option for each in command.commands[role].params for option in each.opts} >= set(names)


def test_every_variable_is_read_by_the_settings_or_by_the_file_itself() -> None:
    read = set(re.findall(r"\b(?:CAIRN|GIT)_\w+", (ROOT / "src/codecairn/config.py").read_text(encoding="utf-8")))
    written = set()
    for path in FOLDER.iterdir():
        written |= set(re.findall(r"\b(?:CAIRN_[A-Z_]+|GIT_[A-Z_]+|POD_IP)\b", path.read_text(encoding="utf-8")))
    assert "CAIRN_DATABASE" in written
    assert written - OF_OTHERS <= read


# Kubernetes.


def test_the_kinds_are_those_that_are_needed_and_no_secret_is_among_them() -> None:
    kinds = [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in manifests()]
    assert kinds == [
        ("apps/v1", "Deployment", "cairn-node"), ("apps/v1", "Deployment", "cairn-worker"), ("v1", "Service", "cairn"),
        ("policy/v1", "PodDisruptionBudget", "cairn-node"),
    ]  # fmt: skip


def test_selectors_find_their_pods_and_no_others() -> None:
    labels = {name: spec["template"]["metadata"]["labels"] for name, spec in deployments().items()}
    for name, spec in deployments().items():
        assert [other for other, has in labels.items() if spec["selector"]["matchLabels"].items() <= has.items()] == [
            name
        ]
    service, budget = manifests()[2]["spec"], manifests()[3]["spec"]
    for selector in (service["selector"], budget["selector"]["matchLabels"]):
        assert [name for name, has in labels.items() if selector.items() <= has.items()] == ["cairn-node"]


def test_a_node_has_its_probes_and_its_port() -> None:
    node = next(each for each in containers() if each["name"] == "node")
    ports = {each["name"]: each["containerPort"] for each in node["ports"]}
    assert ports == {"http": PORT}
    assert manifests()[2]["spec"]["ports"][0]["targetPort"] in ports
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert node[probe]["httpGet"] == {"path": "/health", "port": "http"}
    door = (ROOT / "src/codecairn/team/door.py").read_text(encoding="utf-8")
    assert 'Route("/health"' in door


def test_a_worker_tells_how_it_stands_and_is_not_ended_for_an_outage_of_the_database() -> None:
    worker = next(each for each in containers() if each["name"] == "worker")
    (port,) = worker["ports"]
    assert worker["args"][worker["args"].index("--http") + 1] == f"0.0.0.0:{port['containerPort']}"
    assert worker["readinessProbe"]["httpGet"] == {"path": "/health", "port": port["name"]}
    assert "livenessProbe" not in worker
    composed = compose()["services"]["worker"]
    address = composed["command"][composed["command"].index("--http") + 1]
    assert f"http://{address}/health" in composed["healthcheck"]["test"][-1]


def test_nodes_tell_each_other_an_address_that_is_theirs() -> None:
    node = next(each for each in containers() if each["name"] == "node")
    assert node["args"][node["args"].index("--url") + 1] == f"http://$(POD_IP):{PORT}"
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in node["env"]
    assert manifests()[2]["metadata"]["name"] in node["args"], "the Host that callers inside the cluster send"


def test_the_database_comes_from_a_secret() -> None:
    for container in containers():
        given = {each["name"]: each for each in container["env"]}["CAIRN_DATABASE"]
        assert given["valueFrom"] == {"secretKeyRef": {"name": "cairn-team", "key": "database"}}
        assert "value" not in given


def test_pods_run_with_little_power_and_a_place_to_write() -> None:
    for spec in deployments().values():
        pod = spec["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        volumes = {each["name"] for each in pod["volumes"]}
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert {"requests", "limits"} == container["resources"].keys()
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        assert set(mounts.values()) == volumes
        assert {"/data", "/tmp"} <= mounts.keys()


# Compose and the image.


def test_compose_waits_for_the_database_and_keeps_what_is_written() -> None:
    services = compose()["services"]
    assert services.keys() == {"database", "node", "worker"}
    for name, each in services.items():
        assert each["restart"] == "unless-stopped"
        kept = {volume.partition(":")[0] for volume in each["volumes"]}
        assert kept <= compose()["volumes"].keys(), name
    for each in (services["node"], services["worker"]):
        assert each["depends_on"] == {"database": {"condition": "service_healthy"}}
        assert each["volumes"][0].endswith(f":{dict(environment_of_image())['CAIRN_HOME']}")
    assert "healthcheck" in services["database"]
    assert f":{PORT}/health" in services["node"]["healthcheck"]["test"][-1]
    assert services["node"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"], "plain HTTP stays on this machine"


def environment_of_image() -> Iterator[tuple[str, str]]:
    for verb, rest in dockerfile():
        if verb == "ENV":
            name, _, value = rest.partition("=")
            yield name, value


def test_the_image_is_one_and_is_built_from_files_that_are_there() -> None:
    images = {each["image"] for each in containers()}
    services = compose()["services"]
    images |= {services["node"]["image"], services["worker"]["image"]}
    assert images == {"cairn-team"}
    built = services["node"]["build"]
    context = (FOLDER / built["context"]).resolve()
    assert (context / built["dockerfile"]) == FOLDER / "Dockerfile"
    copied = [word for verb, rest in dockerfile() if verb == "COPY" for word in rest.split()[:-1]]
    assert copied
    assert [word for word in copied if not (context / word).exists()] == []


def test_the_account_is_the_same_in_the_image_and_in_the_pods() -> None:
    (user,) = (rest for verb, rest in dockerfile() if verb == "USER")
    assert {spec["template"]["spec"]["securityContext"]["runAsUser"] for spec in deployments().values()} == {int(user)}
    assert [f"--uid {user} " in rest for verb, rest in dockerfile() if "useradd" in rest] == [True]


def test_the_image_has_the_extra_and_starts_cairn_team() -> None:
    instructions = dockerfile()
    assert any("/build[team]" in rest for verb, rest in instructions if verb == "RUN")
    assert yaml.safe_load(dict(instructions)["ENTRYPOINT"]) == ["cairn", "team"]
    assert dict(instructions)["EXPOSE"] == str(PORT)


# systemd.

KNOWN = {
    "Unit": {"Description", "Wants", "After", "StartLimitIntervalSec"},
    "Service": {
        "Type", "User", "Group", "StateDirectory", "StateDirectoryMode", "Environment", "EnvironmentFile", "ExecStart",
        "Restart", "RestartSec", "TimeoutStopSec", "LimitNOFILE", "UMask", "NoNewPrivileges", "ProtectSystem",
        "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules",
        "ProtectControlGroups", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality",
        "CapabilityBoundingSet",
    },
    "Install": {"WantedBy"},
}  # fmt: skip


def test_the_unit_has_sections_and_keys_that_systemd_knows() -> None:
    assert unit().keys() == KNOWN.keys()
    for section, pairs in unit().items():
        assert {key for key, _ in pairs} <= KNOWN[section]


def test_the_unit_writes_where_it_may() -> None:
    pairs = unit()["Service"]
    assert ("StateDirectory", "cairn") in pairs
    assert ("Environment", "CAIRN_HOME=/var/lib/cairn") in pairs
    assert ("ProtectSystem", "strict") in pairs
    assert ("EnvironmentFile", "/etc/cairn/team.env") in pairs


def test_the_example_of_the_environment_has_no_secret_and_no_quotes_to_trip_over() -> None:
    lines = [line for line in text_of("team.env").splitlines() if line and not line.startswith("#")]
    names = [line.partition("=")[0] for line in lines]
    assert names == ["CAIRN_DATABASE", "GIT_SSH_COMMAND"]
    assert ":PASSWORD@" in lines[0]
    assert not any(quote in line for line in lines for quote in "\"'")
