import type { Clock, Currency as Money } from "./money";
import Database, { type Row } from "../storage/database";
import * as zlib from "node:zlib";
import fs = require("node:fs");
import Level = logging.Level;

export type { Receipt } from "./receipt";
export { parse as parseOrder } from "./parser";
export * from "./errors";

/** What an order may be. */
export enum Status {
  Open = "open",
  /** Nothing can change any more. */
  Closed = "closed",
}

const enum Bits { None, Urgent = 1 << 0 }

export type OrderId = string & { readonly brand: unique symbol };
type Listener<E extends Event = Event> = (event: E) => void;
export type Options = {
  clock?: Clock;
  currency: Money;
  notify(order: Order): Promise<void>;
};

/**
 * Something that can be bought.
 */
export interface Sellable<T = number> extends Identified, logging.Traced<T> {
  readonly price: T;
  (quantity: number): Line;
  new (sku: string): Sellable<T>;
  discount?(rate: number): T;
  on(event: "sold", listener: Listener): this;
  on(event: "gone", listener: Listener): this;
  [extra: string]: unknown;
}

interface Identified {
  id: OrderId;
}

declare global {
  interface Window {
    orders: OrderBook;
  }
}

declare module "legacy-cart" {
  export function checkout(cart: unknown): Promise<string>;
  const version: number;
}

declare function trace(name: string): MethodDecorator;
declare const BUILD: string;

export namespace logging {
  export const levels = ["debug", "info"] as const;
  export type Level = (typeof levels)[number];
  export interface Traced<T> { trace: T }
  function write(level: Level): void {
    const text = `${level}: ${format(level)}`;
    fs.appendFileSync("log", text);
  }
  export namespace sinks.file { export let path = "log"; }
}

export const defaults = {
  currency: "EUR",
  notify: async (order: Order): Promise<void> => order.send(),
  limits: { retry(times: number): boolean { return times < 3; } },
} satisfies Partial<Options>;

// One line of an order.
export class Line<T extends Sellable = Sellable> implements Identified {
  static #count = 0;
  declare readonly id: OrderId;

  constructor(
    public readonly item: T,
    protected quantity = 1,
    private readonly book?: OrderBook,
    note: string = "",
  ) {
    Line.#count++;
    this.note = note;
  }

  get total(): number { return this.item.price * this.quantity; }
  set total(value: number) { this.quantity = value / this.item.price; }
}

@Injectable({ scope: "request" })
export abstract class OrderBook<K extends string = string>
  extends Database<Row<K>>
  implements Iterable<Line>, logging.Traced<K>
{
  @Input() trace!: K;
  protected lines = new Map<K, Line>();
  private listeners: Set<Listener> = new Set();
  readonly subscribe = (listener: Listener): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  abstract currency(): Money;
  abstract get open(): boolean;

  find(id: OrderId): Line;
  find(name: string, exact?: boolean): Line[];
  /** Finds by id, or by name. */
  @trace("find")
  find(
    this: OrderBook,
    idOrName: string,
    exact = false,
  ): Line | Line[] {
    const found = this.lines.get(idOrName as OrderId)!;
    return exact ? found : [found];
  }

  static isBook<B extends OrderBook>(this: void, value: unknown): value is B {
    return value instanceof OrderBook;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Line> {
    yield* super.stream<Line>(...this.lines.values());
  }

  *[Symbol.iterator]() { yield* this.lines.values(); }
}

export default class MemoryBook extends OrderBook {
  currency(): Money { return defaults.currency as Money; }
  get open() { return this.#closed?.() ?? true; }
  #closed?: () => boolean;
}

export function total(lines: Line[]): number;
export function total(...lines: readonly Line[]): number;
export function total(...args: any[]): number {
  const sum = (left: number, right: Line) => left + right.total;
  return args.flat().reduce(sum, 0);
}

export function assertOpen(book: OrderBook | undefined): asserts book is OrderBook {
  if (!book!.open) throw new OrderError<Status>(Status.Closed);
}

const memo = <A, R>(fn: (arg: A) => R): ((arg: A) => R) => {
  const seen: Map<A, R> = new Map();
  return function remembered(arg) { return seen.get(arg) ?? fn(arg); };
};

export const inflate = memo(async (path: string) => {
  const { gunzipSync } = await import("node:zlib");
  return gunzipSync(fs.readFileSync(path));
}), deflate = memo(zlib.gzipSync);

class OrderError<S> extends Error { constructor(readonly status: S) { super(String(status)); } }

export { OrderError as Failure, logging as log };
