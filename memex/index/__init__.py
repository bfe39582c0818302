"""Which memories are in memory, and their exact ranking."""

from memex._native import build_info
from memex.index.loading import Contents, TooLarge
from memex.index.ranking import Ranker
from memex.index.residency import Residency
from memex.index.resident import Resident
from memex.index.terms import TERMS_VERSION, tokenize

__all__ = [
    "TERMS_VERSION",
    "Contents",
    "Ranker",
    "Residency",
    "Resident",
    "TooLarge",
    "build_info",
    "tokenize",
]
