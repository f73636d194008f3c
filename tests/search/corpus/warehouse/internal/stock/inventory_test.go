package stock

import "testing"

func TestReserveFailsWhenOutOfStock(t *testing.T) {
	inventory := NewInventory()
	if err := inventory.Reserve("tea", 1); err != ErrOutOfStock {
		t.Fatalf("got %v", err)
	}
}
