"""Fitting a coverage readout, and what it is worth on a domain that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.extras import need
from excise.rules.coverage import Coverage
from excise.rules.decision import Floats
from excise.rules.readout import CoverageReadout
from excise.search.match_features import FEATURES, WORD_FEATURES
from excise.training.coverage.graded import FAMILIES, GradedFeatures

PENALTY = 0.3  # C of scikit-learn on standardised features
_DOMAIN_WEIGHT = 1_000.0  # every domain counts alike, however many candidates it has
_FAMILY_WEIGHT = 300.0  # but for the bundled families, whose answers follow from how they were written


@dataclass(frozen=True)
class LeftOut:
    """A domain measured by a readout that was fitted on the others."""

    domain: str
    candidates: int
    covering: int
    precision: float
    recall: float
    average_precision: float
    brier: float


def fit_readout(graded: GradedFeatures, names: Sequence[str] = FEATURES) -> CoverageReadout:
    """A logistic regression over the named features, every graded domain of equal weight."""
    need("fitting a coverage readout", "eval", "sklearn")
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    if len(set(graded.covers.tolist())) < 2:
        raise InvalidInput("a readout needs graded candidates that cover their topic and such that do not.")
    chosen = graded.features[:, [FEATURES.index(name) for name in names]]
    sizes = {domain: int((graded.domains == domain).sum()) for domain in set(graded.domains.tolist())}
    sample = np.array([(_FAMILY_WEIGHT if one == FAMILIES else _DOMAIN_WEIGHT) / sizes[one] for one in graded.domains])
    means = np.average(chosen, axis=0, weights=sample)
    scales = np.maximum(np.sqrt(np.average((chosen - means) ** 2, axis=0, weights=sample)), 1e-6)
    model = LogisticRegression(C=PENALTY, max_iter=5_000)
    model.fit((chosen - means) / scales, graded.covers, sample_weight=sample)
    return CoverageReadout(
        tuple(names),
        tuple(float(value) for value in means),
        tuple(float(value) for value in scales),
        tuple(float(value) for value in model.coef_[0]),
        float(model.intercept_[0]),
    )


def fit_for_any(graded: GradedFeatures) -> CoverageReadout:
    """A readout for vectors that none was fitted on: halfway, in log odds, to the one that reads words alone.

    On the vectors of another backbone a readout of everything ranks candidates better, but is too sure of itself where
    their similarities spread otherwise than those that it has seen.
    """
    one, words = fit_readout(graded), fit_readout(graded, WORD_FEATURES)
    coefficients, intercept = np.array(one.coefficients), one.intercept + words.intercept
    for name, mean, scale, weight in zip(words.features, words.means, words.scales, words.coefficients, strict=True):
        place = one.features.index(name)
        coefficients[place] += weight * one.scales[place] / scale
        intercept += weight * (one.means[place] - mean) / scale
    return replace(one, coefficients=tuple((coefficients / 2).tolist()), intercept=intercept / 2)


def leave_one_out(
    graded: GradedFeatures,
    fit: Callable[[GradedFeatures], CoverageReadout] = fit_readout,
    fitted_on: GradedFeatures | None = None,
) -> tuple[LeftOut, ...]:
    """Each graded domain measured by a readout fitted on the others; last, all together, at the default caution.

    Parameters
    ----------
    graded
        what is measured.
    fit
        how a readout is fitted.
    fitted_on
        what readouts are fitted on, less the domain that is measured; by default the same candidates.
    """
    chances = np.full(len(graded.covers), np.nan)
    domains = [domain for domain in dict.fromkeys(graded.domains.tolist()) if domain != FAMILIES]
    for domain in domains:
        own = graded.domains == domain
        others = fitted_on or graded
        readout = fit(others.taken(others.domains != domain))
        chances[own] = readout.probabilities(graded.features[own], FEATURES)
    rows = [_measured(domain, chances, graded.covers, graded.domains == domain) for domain in domains]
    return (*rows, _measured("together", chances, graded.covers, np.isfinite(chances)))


def _measured(domain: str, chances: Floats, covers: NDArray[np.bool_], own: NDArray[np.bool_]) -> LeftOut:
    from sklearn.metrics import average_precision_score  # type: ignore[import-untyped]

    chance, truth = chances[own], covers[own]
    removed = chance >= Coverage().caution
    return LeftOut(
        domain,
        len(truth),
        int(truth.sum()),
        float(truth[removed].mean()) if removed.any() else 0.0,
        float(removed[truth].mean()) if truth.any() else 0.0,
        float(average_precision_score(truth, chance)),
        float(((chance - truth) ** 2).mean()),
    )
