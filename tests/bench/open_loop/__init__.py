"""The open loop: its generator, its search for a capacity, its tenants."""
