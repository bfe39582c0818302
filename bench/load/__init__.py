"""Load over HTTP: closed loop, open loop, Locust."""
