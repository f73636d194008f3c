import { HttpClient } from "../api/httpClient";

export interface CartItem {
  sku: string;
  quantity: number;
  unitPriceCents: number;
}

export type CartListener = (items: readonly CartItem[]) => void;

/** What the customer is about to buy; kept in local storage between visits. */
export class CartStore {
  private items: CartItem[] = [];
  private listeners = new Set<CartListener>();

  constructor(private readonly storage: Storage) {
    this.restore();
  }

  addItem(item: CartItem): void {
    const known = this.items.find((each) => each.sku === item.sku);
    if (known) known.quantity += item.quantity;
    else this.items.push(item);
    this.persist();
  }

  removeItem(sku: string): void {
    this.items = this.items.filter((each) => each.sku !== sku);
    this.persist();
  }

  get totalCents(): number {
    return this.items.reduce((sum, each) => sum + each.quantity * each.unitPriceCents, 0);
  }

  /** Tells whoever shows the cart when it changes; returns the way to stop. */
  subscribe(listener: CartListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async checkout(client: HttpClient): Promise<void> {
    await client.post("/orders", { lines: this.items });
    this.items = [];
    this.persist();
  }

  private persist(): void {
    this.storage.setItem("cart", JSON.stringify(this.items));
    this.listeners.forEach((listener) => listener(this.items));
  }

  private restore(): void {
    this.items = JSON.parse(this.storage.getItem("cart") ?? "[]");
  }
}
