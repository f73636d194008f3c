// Package web answers the shop's questions about stock.
package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"example.org/kiosk/warehouse/internal/stock"
)

// Handler serves the warehouse over HTTP.
type Handler struct {
	Inventory *stock.Inventory
}

type reserveRequest struct {
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

// ServeHTTP sends each request to the method for its path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
		w.WriteHeader(http.StatusNoContent)
	case "/reserve":
		h.reserve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (h *Handler) reserve(w http.ResponseWriter, r *http.Request) {
	var wanted reserveRequest
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		http.Error(w, "malformed request body", http.StatusBadRequest)
		return
	}
	err := h.Inventory.Reserve(wanted.SKU, wanted.Count)
	if errors.Is(err, stock.ErrOutOfStock) {
		http.Error(w, "out of stock", http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
