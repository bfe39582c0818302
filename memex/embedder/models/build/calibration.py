"""The texts that the rounding is fitted to: our own, in many languages and of all lengths."""

from pathlib import Path

from tokenizers import Tokenizer

from memex.embedder.models.tokenizing import fit, strip

TEXTS = Path(__file__).with_name("calibration.txt")
JOINED = (3, 8, 20, 60)


def load_tokenizer(path: Path) -> Tokenizer:
    """A public tokenizer without the padding and truncation that some carry."""
    tokenizer = Tokenizer.from_str(strip(path.read_text("utf-8")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def calibration_ids(tokenizer: Tokenizer, prefixes: tuple[str, str], window: int) -> list[list[int]]:
    """Token ids of every calibration text, cut at the window."""
    texts = calibration_texts(TEXTS.read_text("utf-8").splitlines(), prefixes)
    return [fit(encoding.ids, window) for encoding in tokenizer.encode_batch(texts)]


def calibration_texts(lines: list[str], prefixes: tuple[str, str]) -> list[str]:
    """Each line, and lines joined to ever longer texts; every third one in the role of a query."""
    runs = [" ".join(lines[start : start + size]) for size in JOINED for start in range(0, len(lines), size)]
    return [prefixes[number % 3 != 0] + text for number, text in enumerate(lines + runs)]
