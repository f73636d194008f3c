package stock

import (
	"context"
	"database/sql"
	"fmt"
)

// Movement is one change of a product's count.
type Movement struct {
	SKU    string
	Change int
	Reason string
}

// MovementRepository keeps every movement, so that counts can be audited.
type MovementRepository interface {
	Append(ctx context.Context, movement Movement) error
	History(ctx context.Context, sku string) ([]Movement, error)
}

type sqlMovementRepository struct {
	db *sql.DB
}

// Append records a movement.
func (r *sqlMovementRepository) Append(ctx context.Context, movement Movement) error {
	_, err := r.db.ExecContext(ctx, "INSERT INTO movement VALUES ($1, $2, $3)", movement.SKU, movement.Change, movement.Reason)
	if err != nil {
		return fmt.Errorf("append movement of %s: %w", movement.SKU, err)
	}
	return nil
}

// History reads the movements of a product, oldest first.
func (r *sqlMovementRepository) History(ctx context.Context, sku string) ([]Movement, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT sku, change, reason FROM movement WHERE sku = $1", sku)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []Movement
	for rows.Next() {
		var each Movement
		if err := rows.Scan(&each.SKU, &each.Change, &each.Reason); err != nil {
			return nil, err
		}
		found = append(found, each)
	}
	return found, rows.Err()
}
