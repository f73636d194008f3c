"""A question to many repositories: each node is asked for its own, side by side.

Repositories are spread over the nodes that have them in the order of their owners, so that all share the work of every
question. A node that does not answer, or does not have it any more, is passed over, and the next owner is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from codecairn.team.peers import NodeSilent, WireReply, is_elsewhere
from codecairn.team.repositories import TeamRepository

_MOST_AT_ONCE = 8
Holders = Callable[[TeamRepository], list[str]]
"""The nodes that have a repository ready, in the order in which they are to be asked."""
AskNode = Callable[[str, Sequence[TeamRepository]], list[WireReply]]
"""Put the question to one node, for these repositories; raises NodeSilent where it does not answer."""


@dataclass(frozen=True)
class Gathered:
    """The answers by repository, and why each of the others has none."""

    replies: Mapping[str, WireReply]
    silent: Mapping[str, str]


class FanOut:
    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_MOST_AT_ONCE, "cairn-fan-out")

    def gather(self, wanted: Sequence[TeamRepository], holders: Holders, ask: AskNode) -> Gathered:
        replies, silent = dict[str, WireReply](), dict[str, str]()
        turns = {each.name: holders(each) for each in wanted}
        left = list(wanted)
        while left:
            groups: dict[str, list[TeamRepository]] = {}
            for each in left:
                if turns[each.name]:
                    groups.setdefault(turns[each.name].pop(0), []).append(each)
                else:
                    silent.setdefault(each.name, "not ready on any node")
            left = self._ask(groups, ask, replies, silent)
        return Gathered(replies, {name: why for name, why in silent.items() if name not in replies})

    def _ask(
        self, groups: Mapping[str, list[TeamRepository]], ask: AskNode, replies: dict[str, WireReply],
        silent: dict[str, str],
    ) -> list[TeamRepository]:  # fmt: skip
        """Ask each node for its group; returns the repositories of which none has told."""
        asked = {node: self._pool.submit(ask, node, group) for node, group in groups.items()}
        left: list[TeamRepository] = []
        for node, answer in asked.items():
            try:
                told = {each.repository: each for each in answer.result() if not is_elsewhere(each)}
                reason = f"not ready on node {node}"
            except NodeSilent:
                told, reason = {}, f"node {node} does not answer"
            lacking = [each for each in groups[node] if each.name not in told]
            replies |= told
            left += lacking
            silent |= {each.name: reason for each in lacking}
        return left

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
