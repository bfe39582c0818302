"""The measuring tools themselves."""
