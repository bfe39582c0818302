"""MCP: the tools that agents call, over HTTP and over stdio."""
