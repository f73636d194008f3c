// Package stock counts what is on the shelves.
package stock

import (
	"errors"
	"sync"
)

// ErrOutOfStock says that fewer are left than were asked for.
var ErrOutOfStock = errors.New("stock: not enough left")

// LowWaterMark is the count below which a product is ordered again.
const LowWaterMark = 10

// Inventory is safe for concurrent use.
type Inventory struct {
	mu       sync.Mutex
	onHand   map[string]int
	reserved map[string]int
}

// NewInventory makes an inventory with nothing in it.
func NewInventory() *Inventory {
	return &Inventory{onHand: map[string]int{}, reserved: map[string]int{}}
}

// Reserve sets items aside for an order until they are shipped or released.
func (i *Inventory) Reserve(sku string, count int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.onHand[sku]-i.reserved[sku] < count {
		return ErrOutOfStock
	}
	i.reserved[sku] += count
	return nil
}

// Release gives back what an order had reserved.
func (i *Inventory) Release(sku string, count int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reserved[sku] -= min(count, i.reserved[sku])
}

// NeedsReorder lists the products that run low.
func (i *Inventory) NeedsReorder() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var low []string
	for sku, count := range i.onHand {
		if count-i.reserved[sku] < LowWaterMark {
			low = append(low, sku)
		}
	}
	return low
}
