"""The linear probe of Appendix A: can the frozen vectors tell wanted documents from excluded ones, at any layer?

Each document is the mean of its token vectors at a transformer layer, or after the final projection. A logistic
regression learns to tell the gold from the excluded document of each query, and is tested on documents that it has
not seen. Documents that a chain of pairs joins are in one fold: were the two of a pair parted, the probe would meet
the near twin of a training document under the other label, and fall below chance. So every fold holds whole pairs, as
many golds as excluded documents, and chance is 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.extras import need
from excise.progress import Progress, silent
from excise.vectors.ragged import Ragged

FOLDS = 5
FINAL = "final"
_PENALTY = 0.1  # C of scikit-learn on standardised features: hundreds of features, and hundreds of documents
_BATCH = 16


@dataclass(frozen=True)
class LayerAccuracy:
    """How often the probe is right at one layer: the mean over the folds, and their standard deviation."""

    layer: str
    accuracy: float
    deviation: float


@dataclass(frozen=True)
class Probe:
    """The probe at every layer. ``documents`` counts the different ones, ``groups`` those that no pair joins, ``both``
    the ones that are gold for one query and excluded for another: no probe of a document alone is right about both."""

    pairs: int
    documents: int
    groups: int
    both: int
    folds: int
    layers: tuple[LayerAccuracy, ...]


def probe(
    pairs: Sequence[tuple[str, str]],
    documents: Mapping[str, Document],
    windows: Mapping[str, Ragged],
    backbone: Backbone,
    seed: int = 0,
    progress: Progress = silent,
) -> Probe | None:
    """Train and test the probe at each layer; None where there are fewer groups of documents than folds.

    Parameters
    ----------
    pairs
        ids of the gold and the excluded document of each query.
    documents, windows
        the documents and their stored token vectors, by id.
    backbone
        the frozen encoder.
    seed
        decides the folds.
    progress
        called with what is being done, how much of it is done, and how much there is.
    """
    need("the probe", "eval", "sklearn")
    golds, excluded = {gold for gold, _ in pairs}, {bad for _, bad in pairs}
    ids = sorted(golds | excluded)
    places = {key: place for place, key in enumerate(ids)}
    rows = np.array([places[key] for pair in pairs for key in pair])
    groups = joined(rows)
    if len(set(groups)) < FOLDS:
        return None
    means: list[list[NDArray[np.float32]]] = []
    for done, key in enumerate(ids, 1):
        final = np.asarray(windows[key].vectors, dtype=np.float32).mean(axis=0)
        means.append([*layer_means(documents[key].full_text, backbone), final])
        progress("reading layers", done, len(ids))
    labels = np.array([0, 1] * len(pairs))
    names = [*(f"L{number}" for number in range(1, len(means[0]))), FINAL]
    layers = []
    for done, name in enumerate(names):
        features = np.stack([own[done] for own in means])[rows]
        layers.append(LayerAccuracy(name, *grouped_accuracy(features, labels, groups, seed)))
        progress("training probes", done + 1, len(names))
    return Probe(len(pairs), len(ids), len(set(groups)), len(golds & excluded), FOLDS, tuple(layers))


def joined(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each document in a list of pairs, one after the other: a chain of pairs is one group.

    Examples
    --------
    >>> joined(np.array([0, 1, 2, 3, 1, 4])).tolist()  # the pairs (0, 1), (2, 3) and (1, 4)
    [0, 0, 1, 1, 0, 0]
    """
    from scipy.sparse import coo_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    size = int(rows.max()) + 1
    links = coo_array((np.ones(len(rows) // 2), (rows[::2], rows[1::2])), shape=(size, size))
    _, groups = connected_components(links, directed=False)
    return np.asarray(groups[rows], dtype=np.int64)


def layer_means(text: str, backbone: Backbone) -> list[NDArray[np.float32]]:
    """The mean token vector of a document at each transformer layer, over all of its windows."""
    import torch

    from excise.encoders.batching import padded

    encoder, windows = backbone.encoder, backbone.windowing.cut(text)
    tokens = encoder.tokenizer.ids(windows, encoder.prompts.get("document") or "", backbone.length("document"))
    device = next(encoder.parameters()).device
    sums: list[NDArray[np.float64]] = []
    for start in range(0, len(tokens), _BATCH):
        ids, mask = (part.to(device) for part in padded(tokens[start : start + _BATCH]))
        with torch.no_grad():
            states = encoder.transformer(ids, mask, output_hidden_states=True).hidden_states[1:]
        counted = mask.unsqueeze(-1)
        added = [(state * counted).sum(dim=(0, 1)).double().cpu().numpy() for state in states]
        sums = added if not sums else [old + new for old, new in zip(sums, added, strict=True)]
    count = sum(len(window) for window in tokens)
    return [np.asarray(total / count, dtype=np.float32) for total in sums]


def grouped_accuracy(
    features: NDArray[np.float32], labels: NDArray[np.int64], groups: NDArray[np.int64], seed: int = 0
) -> tuple[float, float]:
    """Mean accuracy of a logistic regression over folds that share no group, and its standard deviation.

    Examples
    --------
    >>> labels = np.tile([0, 1], 20)
    >>> told, _ = grouped_accuracy(labels[:, None].astype(np.float32), labels, np.arange(40))
    >>> blind, _ = grouped_accuracy(np.zeros((40, 1), np.float32), labels, np.arange(40))
    >>> told, blind
    (1.0, 0.5)
    """
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.model_selection import StratifiedGroupKFold  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    folds = StratifiedGroupKFold(n_splits=FOLDS, shuffle=True, random_state=seed)
    scores = []
    for train, test in folds.split(features, labels, groups):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=_PENALTY, max_iter=2_000, random_state=seed))
        with threadpool_limits(1):  # the fits are small: threads would wait for each other longer than they work
            model.fit(features[train], labels[train])
        scores.append(float(model.score(features[test], labels[test])))
    return float(np.mean(scores)), float(np.std(scores, ddof=1))
