"""A re-creation of the request path of an earlier open service, for comparison; not its code. See README.md."""
