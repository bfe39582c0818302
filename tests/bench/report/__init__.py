"""The report: every question's figures on one page."""
