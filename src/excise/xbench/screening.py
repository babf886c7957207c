"""The gates that need no model, asked before anything is rewritten: what they would drop costs no further request."""

from __future__ import annotations

from collections.abc import Callable

from excise.xbench import gates
from excise.xbench.drafts import Seed
from excise.xbench.gates import Failure, Rivalry
from excise.xbench.gating import GateSettings, rivalries_on
from excise.xbench.indexed_corpus import IndexedCorpus
from excise.xbench.records import MinedPair
from excise.xbench.writing import Screened


class Screening:
    """Round trip, difficulty and distinctness of a pair, as soon as Stage A has named X; each pair is measured once.

    Parameters
    ----------
    opened
        opens the corpus with its index; called when the first pair is looked at.
    settings
        what the gates ask for.
    """

    def __init__(self, opened: Callable[[], IndexedCorpus], settings: GateSettings) -> None:
        self._opened, self._settings = opened, settings
        self._corpus: IndexedCorpus | None = None
        self._known: dict[tuple[str, Seed], Screened] = {}

    def __call__(self, pair: MinedPair, seed: Seed) -> Screened:
        key = (pair.id, seed)
        if key not in self._known:
            self._known[key] = self._screened(pair, seed)
        return self._known[key]

    def _screened(self, pair: MinedPair, seed: Seed) -> Screened:
        if self._corpus is None:
            self._corpus = self._opened()
        corpus, settings = self._corpus, self._settings
        texts = {id: corpus.document(id).full_text for id in (pair.gold, *pair.negatives)}
        rivalries = rivalries_on(corpus, seed.wanted, pair.gold, pair.negatives, settings)
        rank = corpus.ranks([seed.query], [pair.gold], settings.depth)[0]
        first = {id: texts[id] for id in (pair.gold, pair.negatives[0])}
        against = (
            gates.round_trip(rank, settings.depth)
            or gates.difficulty([_only(rivalry, 0) for rivalry in rivalries])
            or gates.distinctness(first, settings.same_document)
        )
        second: Failure | None = None
        if len(pair.negatives) > 1:
            second = gates.difficulty([_only(rivalry, 1) for rivalry in rivalries])
            second = second or gates.distinctness(texts, settings.same_document)
        return Screened(against.code if against else None, second.code if second else None)


def _only(rivalry: Rivalry, place: int) -> Rivalry:
    return rivalry._replace(negatives=(rivalry.negatives[place],))
