// The warehouse service.
package main

import (
	"context"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"example.org/kiosk/warehouse/internal/stock"
	"example.org/kiosk/warehouse/internal/web"
)

func main() {
	server := &http.Server{Addr: ":8081", Handler: &web.Handler{Inventory: stock.NewInventory()}}
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	waitForShutdown(server)
}

// waitForShutdown lets requests that are under way finish before the process ends.
func waitForShutdown(server *http.Server) {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	<-stop.Done()
	grace, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	_ = server.Shutdown(grace)
}
