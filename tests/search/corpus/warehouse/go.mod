module example.org/kiosk/warehouse

go 1.22
