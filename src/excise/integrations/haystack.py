"""Haystack: a ranker component for any pipeline.

Annotations are not postponed here: older releases of Haystack read the types of a component's sockets as they stand.
"""

from dataclasses import replace
from threading import Lock
from typing import Any

from excise.errors import InvalidInput
from excise.extras import need
from excise.integrations.first_stage import METADATA_KEY, Candidate, Verdict, sift
from excise.search.operator import Excise, load

need("the Haystack drop-in", "haystack", "haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402


@component
class ExciseRanker:
    """Takes what a query excludes out of the documents that any retriever found.

    A query that excludes nothing gets the very same documents back, in their order. Else documents are copies with
    their status in ``meta["excise"]``, in the order that they came in; what was removed is the output ``removed``.

    Parameters
    ----------
    exclude
        topics to rule out in every query; None lets the detector read them from each. A run may name its own.
    top_k
        how many documents are kept at most. A run may name its own.
    preset, backbone
        what to load: as in ``excise.load``. Models are loaded with the first run, or by ``warm_up``.
    title_key
        where meta has a document's title.
    operator
        an operator that is loaded already, in place of a preset; a pipeline that has one cannot be written to YAML.

    Examples
    --------
    >>> cars = ["The Tesla Model 3 is an electric sedan.", "The Nissan Leaf is an electric hatchback.",
    ...         "The Renault Zoe is a small electric car.", "BYD's Dolphin is an electric hatchback."]
    >>> ranker = ExciseRanker()
    >>> found = ranker.run(query="electric cars, but not Tesla", documents=[Document(content=text) for text in cars])
    >>> [document.content.split()[1] for document in found["documents"]], len(found["removed"])
    (['Nissan', 'Renault', 'Dolphin'], 1)
    """

    def __init__(
        self,
        exclude: list[str] | None = None,
        top_k: int | None = None,
        preset: str = "default",
        backbone: str | None = None,
        title_key: str = "title",
        operator: Excise | None = None,
    ) -> None:
        self.exclude, self.top_k, self.title_key = exclude, top_k, title_key
        self.preset, self.backbone = preset, backbone
        self.operator = operator
        self._loaded = operator
        self._loading = Lock()

    def warm_up(self) -> None:
        """Load the models."""
        self._ready()

    def _ready(self) -> Excise:
        with self._loading:  # pipelines may run in several threads
            if self._loaded is None:
                self._loaded = load(backbone=self.backbone, settings=self.preset)
            return self._loaded

    @component.output_types(documents=list[Document], removed=list[Document])
    def run(
        self, query: str, documents: list[Document], exclude: list[str] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The documents, less what the query excludes, and what was removed.

        Parameters
        ----------
        query
            what is looked for.
        documents
            what a retriever found, best first.
        exclude, top_k
            in place of the component's own.
        """
        most = self.top_k if top_k is None else top_k
        topics = self.exclude if exclude is None else exclude
        sifted = sift(self._ready(), query, [self._candidate(one) for one in documents], topics, most)
        if sifted is None:
            return {"documents": documents if most is None else documents[:most], "removed": []}
        return {
            "documents": [_marked(documents[one.position], one) for one in sifted.kept],
            "removed": [_marked(documents[one.position], one) for one in sifted.removed],
        }

    def to_dict(self) -> dict[str, Any]:
        """The component as a pipeline's YAML has it."""
        if self.operator is not None:
            raise InvalidInput("an ExciseRanker that was handed an operator cannot be written: name a preset instead.")
        names = ("exclude", "top_k", "preset", "backbone", "title_key")
        plain: dict[str, Any] = default_to_dict(self, **{name: getattr(self, name) for name in names})
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ExciseRanker":
        """The component that a pipeline's YAML describes."""
        made: ExciseRanker = default_from_dict(cls, data)
        return made

    def _candidate(self, document: Document) -> Candidate:
        title = document.meta.get(self.title_key)
        return Candidate(document.content or "", title if isinstance(title, str) else "", document.score)


def _marked(document: Document, verdict: Verdict) -> Document:
    """A copy of a document with its verdict; what the first stage returned is never written to."""
    return replace(document, meta={**document.meta, METADATA_KEY: verdict.as_dict()}, score=verdict.score)
