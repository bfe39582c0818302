"""How a public model is used, as far as its own files and its family say: pooling, prefixes, window, licence."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from memex.embedder.models.sources import LICENCES, PAPERS, Source
from memex.errors import ModelDamaged

Pooling = Literal["mean", "cls"]
SEARCHING = "Represent this sentence for searching relevant passages: "
# Positions of these begin after the padding's, which takes two of them.
OFFSET = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}
# Some files say 10^30, 0 or -1 for "no limit".
LEAST, NO_LIMIT = 8, 1_000_000


class Family(msgspec.Struct, frozen=True):
    """Models whose publishers say the same about their use."""

    name: str
    pattern: str
    """Of the model's name, lower case."""
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""


FAMILIES = (
    Family("e5", r"(^|[-_])e5-(small|base|large)", "mean", "query: ", "passage: "),
    Family("bge-en", r"bge-(small|base|large)-en", "cls", SEARCHING),
    Family("bge-zh", r"bge-(small|base|large)-zh", "cls", "为这个句子生成表示以用于检索相关文章："),
    Family("gte", r"gte-(small|base|large)(-zh)?$", "mean"),
    Family("minilm", r"(all|paraphrase-multilingual|multi-qa)-minilm-l\d+", "mean"),
)


class Description(msgspec.Struct, frozen=True):
    """How texts go in and vectors come out."""

    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    window: int | None
    """None where no file says; the graph is then tried."""
    licence: str
    """SPDX identifier, or `unknown`."""
    basis: str
    """What this follows from, for the card and for people."""


def describe(source: Source, name: str) -> Description:
    """What is known of a source. Raises ModelDamaged for a pooling that memex does not have."""
    family = next((f for f in FAMILIES if re.search(f.pattern, name.lower())), None)
    pooling, pooled_by = pooling_of(source, family)
    prefixes, prefixed_by = prefixes_of(source, family)
    return Description(
        pooling=pooling,
        query_prefix=prefixes[0],
        passage_prefix=prefixes[1],
        window=window_of(source),
        licence=licence_of(source),
        basis=f"pooling: {pooled_by}; prefixes: {prefixed_by}",
    )


def pooling_of(source: Source, family: Family | None) -> tuple[Pooling, str]:
    """The pooling, and who says so."""
    file = "1_Pooling/config.json"
    said = read(source.folder / file)
    modes = {key.removeprefix("pooling_mode_"): True for key, value in said.items() if value is True}
    if isinstance(said.get("pooling_mode"), str):
        modes = {said["pooling_mode"]: True}
    if modes.keys() & {"cls", "cls_token"} and len(modes) == 1:
        return "cls", file
    if modes.keys() & {"mean", "mean_tokens"} and len(modes) == 1:
        return "mean", file
    if modes.keys() - {"include_prompt"}:
        raise ModelDamaged(f"The model pools by {', '.join(sorted(modes))}: memex has mean and cls.")
    return (family.pooling, f"family {family.name}") if family else ("mean", "assumed")


def prefixes_of(source: Source, family: Family | None) -> tuple[tuple[str, str], str]:
    """The prefixes of queries and passages, and who says so."""
    if family:
        return (family.query_prefix, family.passage_prefix), f"family {family.name}"
    file = "config_sentence_transformers.json"
    said = read(source.folder / file).get("prompts")
    prompts = {key: text for key, text in said.items() if isinstance(text, str)} if isinstance(said, dict) else {}
    query = prompts.get("query", "")
    passage = prompts.get("passage") or prompts.get("document", "")
    return ((query, passage), file) if query or passage else (("", ""), "none known")


def window_of(source: Source) -> int | None:
    """The least of the limits that the files name."""
    model, tokenizer = read(source.folder / "config.json"), read(source.folder / "tokenizer_config.json")
    positions = model.get("max_position_embeddings")
    limits = [
        positions - OFFSET.get(str(model.get("model_type")), 0) if isinstance(positions, int) else None,
        tokenizer.get("model_max_length"),
        read(source.folder / "sentence_bert_config.json").get("max_seq_length"),
    ]
    named = (limit for limit in limits if isinstance(limit, int | float))
    return min((int(limit) for limit in named if LEAST <= limit < NO_LIMIT), default=None)


def licence_of(source: Source) -> str:
    """What the header of the model's page says."""
    page = source.file(PAPERS)
    head = page.read_text("utf-8", errors="replace").split("---") if page else []
    found = re.search(r"^license:\s*([\w.-]+)\s*$", head[1], re.MULTILINE) if len(head) > 2 else None
    return SPDX.get(found[1].lower(), found[1]) if found else "unknown"


SPDX = {"mit": "MIT", "apache-2.0": "Apache-2.0"}


def licence_text(source: Source) -> str:
    """The licence as it came with the model; where to look if it did not."""
    file = source.file(LICENCES)
    if file:
        return file.read_text("utf-8", errors="replace")
    return f"Licence: {licence_of(source)}. Its text did not come with the files: see where the model was published.\n"


def read(file: Path) -> Mapping[str, Any]:
    """A JSON object, empty where there is no such file. Raises ModelDamaged for what is none."""
    if not file.is_file():
        return {}
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise ModelDamaged(f"{file.name} of the model is not a JSON object.") from error
