"""Stock of a warehouse: items, reservations, and the events they raise."""

from __future__ import annotations

import asyncio
import logging as log
import os.path
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Generic, NewType, Protocol, TypeAlias, TypeVar, overload

from . import settings
from .errors import StockError as StockError, Unknown as UnknownItem
from .legacy import *

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

try:
    import orjson as json
except ImportError:
    json = None

__all__ = ["Inventory", "Item"]

T = TypeVar("T")
ItemId = NewType("ItemId", int)
Handler: TypeAlias = "Callable[[Event], None]"
Shelf = namedtuple("Shelf", "aisle level")
type Pair[K] = tuple[K, K]

# How many units are kept back for walk-in customers.
RESERVE: int = 5
nearest = default_shelf = Shelf(1, 1)
lowest, highest = 0, 10_000
_log = log.getLogger(__name__)
by_name = lambda item: item.name.casefold()

if os.path.exists("/etc/inventory"):
    SOURCE = "system"
else:
    SOURCE = "local"


class Event(Enum):
    """What can happen to an item."""

    RECEIVED = auto()
    SHIPPED = auto()

    @property
    def label(self) -> str:
        return self.name.title()


class Store(Protocol[T]):
    """Where items are kept."""

    def load(self, key: ItemId) -> T | None: ...

    async def save(self, value: T, /, *, force: bool = False) -> None: ...


@dataclass(frozen=True, slots=True)
class Item:
    """One article."""

    id: ItemId
    name: str
    """As printed on the label."""
    tags: set[str] = field(default_factory=set)
    weight, volume = 0.0, 0.0

    class Meta:
        ordering = ("name",)


# Kept apart from Item, which is immutable.
class Inventory(settings.Configured, Generic[T], metaclass=settings.Registry):
    r"""All items, by id.

    # not a comment
    """

    instances: int = 0

    def __init__(self, store: Store[Item], *handlers: Handler, **options: str) -> None:
        super().__init__(**options)
        self.store = store
        self._items: dict[ItemId, Item] = {}
        self.lock, self.queue = asyncio.Lock(), None
        if options.get("strict"):
            self.strict = True
        self._subscribe(handlers)

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self._items)

    @size.setter
    def size(self, value: int) -> None:
        raise AttributeError(value)

    @overload
    def find(self, key: ItemId) -> Item: ...
    @overload
    def find(self, key: str) -> list[Item]: ...
    def find(
        self,
        key: ItemId | str,
    ) -> Item | list[Item]:
        # By name, several may match.
        def matches(item: Item) -> bool:
            folded = key.casefold()
            return by_name(item) == folded

        if isinstance(key, str):
            return [each for each in self if matches(each)]
        try:
            return self._items[key]
        except KeyError as missing:
            raise UnknownItem(key) from missing

    @staticmethod
    @log_calls(level=log.DEBUG)
    def parse(text: str) -> Inventory[Item]:
        inventory = Inventory(FileStore.open(text))
        return inventory

    def __iter__(self) -> Iterator[Item]:
        yield from sorted(self._items.values(), key=lambda item: item.id)

    __len__ = lambda self: self.size

    async def reserve(self, key: ItemId, amount: int = RESERVE) -> Shelf:
        async with self.lock, settings.transaction() as session:
            if (found := Finder(session)) and await found.check(key):
                item: Item = self.find(key)
                shelf = await session.locate(item)
        match shelf:
            case Shelf(aisle=1):
                return shelf
            case settings.MISSING:
                raise StockError(f"{describe(item)!r} is nowhere")

    _subscribe = settings.noop


def log_calls(level=log.INFO):
    """Logs every call of what it decorates."""

    def decorate(function):
        class Wrapper:
            calls = 0

            def __call__(self, *args):
                self.calls += 1
                return function(*args)

        return Wrapper()

    return decorate


if json:

    def describe(item: Item) -> str:
        return json.dumps(item)
else:

    def describe(item: Item) -> str:
        return repr(item)


if __name__ == "__main__":
    asyncio.run(Inventory.parse("stock.txt").reserve(ItemId(7)))
