import { CartStore } from "./CartStore";

describe("CartStore", () => {
  it("adds up the quantities of one product", () => {
    const store = new CartStore(window.localStorage);
    store.addItem({ sku: "tea", quantity: 1, unitPriceCents: 300 });
    store.addItem({ sku: "tea", quantity: 2, unitPriceCents: 300 });
    expect(store.totalCents).toBe(900);
  });

  it("forgets an item that is removed", () => {
    const store = new CartStore(window.localStorage);
    store.removeItem("tea");
    expect(store.totalCents).toBe(0);
  });
});
