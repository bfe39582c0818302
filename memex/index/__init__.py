"""Which memories are in memory, and their exact ranking."""

from memex._native import build_info
from memex.index.ranking import Ranker
from memex.index.residency import Contents, Residency, Resident
from memex.index.terms import TERMS_VERSION, tokenize

__all__ = ["TERMS_VERSION", "Contents", "Ranker", "Residency", "Resident", "build_info", "tokenize"]
