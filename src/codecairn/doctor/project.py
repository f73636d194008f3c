"""The project: its repository, its index, how its files are watched, and what makes its vectors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from codecairn.cancel import Cancel
from codecairn.doctor import Finding, Patient, fault, good, warning
from codecairn.errors import CairnError, EncoderFailed, NotARepository
from codecairn.index.status import IndexStatus, index_status
from codecairn.project import Project, Projects
from codecairn.setup.plan import may_be_project
from codecairn.source.file_listing import list_files
from codecairn.source.watch import filesystem_kind
from codecairn.store.integrity import NO_LOSSES
from codecairn.text import number_of

_ROOM = 2
"""Other programs of the user need watches too: a project may take this part of them."""
_LEAST_INSTANCES = 16


def check_project(patient: Patient) -> Iterator[Finding]:
    if not may_be_project(patient.root):
        yield warning("Project", f"{patient.root} is none", "cd to a project and ask again, or name it with --root.")
        return
    for check in (_check_repository, _check_index, _check_watches):
        yield from check(patient)


def _check_repository(patient: Patient) -> Iterator[Finding]:
    try:
        project = _project(patient)
        layout = project.git.layout(Cancel())
    except NotARepository as error:
        yield warning("Project", f"{patient.root} is no git repository: no history, no branches", error.remedy)
    except CairnError as error:
        yield fault("Project", error.message, error.remedy)
    else:
        if layout.shallow:
            said = f"{patient.root} is a shallow clone: history, blame and branches end early"
            yield warning("Project", said, "git fetch --unshallow")
        else:
            yield good("Project", str(patient.root))


def _check_index(patient: Patient) -> Iterator[Finding]:
    if not (patient.home / "indexes").is_dir():
        yield _not_indexed(patient)
        return
    try:
        project = _project(patient)
        found = index_status(project.index, Cancel())
        is_readable = found.schema == "compatible"
        damaged = found.opened.store.find_damage() if found.opened and is_readable else NO_LOSSES
    except CairnError as error:
        yield fault("Index", error.message, error.remedy)
        return
    if found.schema in ("corrupt_manifest", "reindex_required"):
        is_damaged = found.schema == "corrupt_manifest"
        said = "damaged" if is_damaged else "made by another version of Cairn"
        yield fault("Index", f"{said}: {found.warnings[0]}", "cairn index --force")
    elif damaged.versions:
        yield fault("Index", f"{number_of(len(damaged.versions), 'file')} of it cannot be read", "cairn index")
    elif damaged.tables:
        yield fault("Index", f"damaged: {', '.join(sorted(damaged.tables))}", "cairn index")
    elif found.layer is None:
        yield _not_indexed(patient)
    else:
        yield from _judge(found)
    project.close()


def _not_indexed(patient: Patient) -> Finding:
    return warning("Index", f"{patient.root} is not indexed", "cairn index; a server does it by itself")


def _judge(found: IndexStatus) -> Iterator[Finding]:
    assert found.opened is not None
    assert found.layer is not None
    totals = found.opened.store.totals(found.layer.id)
    reasons = found.opened.store.reasons(found.layer.id)
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda each: -each[1])[:3])
    indexed = number_of(totals.files - sum(reasons.values()), "file")
    said = f"{indexed} indexed" + (f"; left out: {skipped}" if skipped else "")
    if found.is_interrupted:
        yield warning("Index", f"the first run was interrupted, files are missing ({said})", "cairn index")
    elif found.freshness == "stale":
        yield warning("Index", f"behind the files of the project ({said})", "cairn index; a server does it by itself")
    else:
        yield good("Index", f"{found.freshness}, {said}")


def _check_watches(patient: Patient) -> Iterator[Finding]:
    if (kind := filesystem_kind(patient.root)) is not None:
        said = f"{patient.root} is on a remote file system ({kind}): changes are found by looking"
        yield warning("Watching", said, "Keep the clone on a local disk.")
        return
    if sys.platform != "linux":
        yield good("Watching", "by the system's file events")
        return
    try:
        watches = int((patient.inotify / "max_user_watches").read_text())
        instances = int((patient.inotify / "max_user_instances").read_text())
        folders = _count_folders(patient)
    except (OSError, ValueError, CairnError):
        return
    if folders * _ROOM > watches:
        yield warning(
            "Watching", f"{folders:,} folders, and the user may watch {watches:,}: changes are found by looking",
            f"sudo sysctl fs.inotify.max_user_watches={max(524_288, folders * 4)}",
        )  # fmt: skip
    elif instances < _LEAST_INSTANCES:
        said = f"the user may have {number_of(instances, 'watcher')}; editors take some"
        yield warning("Watching", said, "sudo sysctl fs.inotify.max_user_instances=512")
    else:
        yield good("Watching", f"{number_of(folders, 'folder')} of the {watches:,} that inotify allows")


def _count_folders(patient: Patient) -> int:
    project = _project(patient)
    files = list_files(project.root, project.git, project.guard, Cancel()).files
    return len({str(parent) for found in files for parent in PurePosixPath(found.path).parents})


def check_encoder(patient: Patient) -> Iterator[Finding]:
    from codecairn.embed.choice import encoders  # noqa: PLC0415 - numpy

    wanted = patient.settings.embeddings
    if wanted.are_off:
        yield warning("Vectors", "off: search finds words and not meanings", "Unset CAIRN_EMBEDDINGS.")
        return
    encoder = encoders(wanted)[0]
    try:
        encoder.query("where is the configuration read")
    except EncoderFailed as error:
        yield fault("Vectors", f"{error.message}; the shipped model serves meanwhile", error.remedy)
    else:
        yield good("Vectors", f"{encoder.name}, {encoder.dimensions} dimensions")


def _project(patient: Patient) -> Project:
    return Projects(patient.settings).project_at(str(patient.root), param="root")
