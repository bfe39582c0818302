"""Long runs that show slow leaks: `make soak`."""
