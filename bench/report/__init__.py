"""Every result on one page: HTML that opens from disk, and Markdown. Run with `make bench-report`."""
