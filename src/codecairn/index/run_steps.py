"""What a run does: it brings up a ref, some paths of the working tree, or the whole of it and then the refs."""

from __future__ import annotations

from collections.abc import Collection

from codecairn.index.activity import Activity
from codecairn.index.refs import index_ref, update_refs
from codecairn.index.run import Report, Run
from codecairn.index.working_tree import WorkingTree


def perform(run: Run, activity: Activity, also: Collection[str] = frozenset()) -> Report:
    """`also` names refs that an index which is built anew had."""
    if activity.ref is not None:
        return index_ref(run, activity.ref)
    if activity.paths is not None:
        return WorkingTree(run).update_paths(activity.paths)
    WorkingTree(run).update()
    run.workers.rest()
    update_refs(run, also)
    return run.report
