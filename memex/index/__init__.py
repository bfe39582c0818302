"""Which memories are in memory, and their exact ranking."""

from memex._native import build_info
from memex.index.ranking import Hit, Ranker, Ranking
from memex.index.residency import Contents, Residency, Resident
from memex.index.terms import Terms, tokenize

__all__ = ["Contents", "Hit", "Ranker", "Ranking", "Residency", "Resident", "Terms", "build_info", "tokenize"]
