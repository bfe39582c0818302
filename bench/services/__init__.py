"""The services that can be measured, each started on fresh data for one run."""
