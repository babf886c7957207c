"""The cache of re-embedded documents: bounded, least recently used out, right under concurrent use."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.encoders.cache import ENTRY_BYTES, CacheKey, EmbeddingCache
from excise.errors import InvalidInput
from excise.vectors.ragged import Ragged

DIMENSIONS = 4
Steps = list[tuple[str, int, int]]
operations = st.lists(
    st.tuples(st.sampled_from(["get", "put"]), st.integers(0, 9), st.integers(1, 6)), min_size=1, max_size=80
)
budgets = st.integers(0, 6 * (ENTRY_BYTES + 64))


def key(name: int | str, adapter: str = "adapter") -> CacheKey:
    return CacheKey.of(str(name), adapter)


def vectors(name: int, tokens: int = 3) -> Ragged:
    """Vectors that tell whose they are."""
    return Ragged.of([np.full((tokens, DIMENSIONS), name, dtype=np.float16)])


def size(tokens: int) -> int:
    return tokens * DIMENSIONS * 2 + 2 * 8 + ENTRY_BYTES


@given(operations, budgets)
def test_it_agrees_with_a_plain_model_of_least_recently_used(steps: Steps, budget: int) -> None:
    cache, model = EmbeddingCache(budget), OrderedDict[int, int]()
    for action, name, tokens in steps:
        if action == "put":
            cache.put(key(name), vectors(name, tokens))
            if size(tokens) <= budget:
                model.pop(name, None)
                while sum(map(size, model.values())) + size(tokens) > budget:
                    model.popitem(last=False)
                model[name] = tokens
        else:
            found = cache.get(key(name))
            assert (None if found is None else len(found[0])) == model.get(name)
            assert found is None or (found.vectors == name).all()
            if name in model:
                model.move_to_end(name)
        assert cache.stats.bytes == sum(map(size, model.values())) <= budget
    assert cache.stats.entries == len(cache) == len(model)


@given(st.lists(operations, min_size=2, max_size=4), budgets)
def test_threads_neither_break_the_bound_nor_mix_entries_up(work: list[Steps], budget: int) -> None:
    cache = EmbeddingCache(budget)

    def run(steps: Steps) -> int:
        for action, name, tokens in steps:
            if action == "put":
                cache.put(key(name), vectors(name, tokens))
            else:
                found = cache.get(key(name))
                assert found is None or (found.vectors == name).all()
            assert cache.stats.bytes <= budget
        return sum(action == "get" for action, _, _ in steps)

    with ThreadPoolExecutor(len(work)) as pool:
        asked = sum(pool.map(run, work))
    stats = cache.stats
    assert stats.hits + stats.misses == asked
    held = [cache.get(key(name)) for name in range(10)]
    assert stats.bytes == sum(size(len(windows[0])) for windows in held if windows is not None)


def test_threads_lose_nothing_while_there_is_room() -> None:
    cache = EmbeddingCache()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: cache.put(key(name), vectors(name)), range(200)))
    assert all((cache.get(key(name)) or vectors(-1)).vectors[0, 0] == name for name in range(200))
    assert cache.stats.hit_rate == 1.0


def test_adapters_live_side_by_side_within_one_budget() -> None:
    cache = EmbeddingCache(2 * size(tokens=3))
    cache.put(key(1), vectors(1))
    cache.put(key(1, "another"), vectors(2))
    assert (cache.get(key(1)) or vectors(0)).vectors[0, 0] == 1
    assert (cache.get(key(1, "another")) or vectors(0)).vectors[0, 0] == 2
    cache.put(key(3), vectors(3))
    assert cache.get(key(1)) is None  # the least recently used, whoever made it
    assert len(cache) == 2


@given(st.text(), st.text())
def test_a_key_is_the_text_and_the_adapter_and_nothing_else(text: str, other: str) -> None:
    assert CacheKey.of(text, "adapter") == CacheKey.of(text, "adapter")
    assert (CacheKey.of(text, "adapter") == CacheKey.of(other, "adapter")) == (text == other)
    assert CacheKey.of(text, "adapter") != CacheKey.of(text, "another")


def test_entries_are_copies_that_cannot_be_written_to() -> None:
    cache, batch = EmbeddingCache(), np.ones((1_000, DIMENSIONS), dtype=np.float16)
    cache.put(key(1), Ragged(batch[:2], np.array([0, 2])))
    batch[:] = 0
    found = cache.get(key(1))
    assert found is not None
    assert found.vectors.base is None
    assert (found.vectors == 1).all()
    with pytest.raises(ValueError, match="read-only"):
        found.vectors[0] = 2


def test_clearing_and_what_cannot_be_held() -> None:
    cache = EmbeddingCache(ENTRY_BYTES + 100)
    cache.put(key(1), vectors(1, tokens=500))
    assert len(cache) == 0
    cache.put(key(1), vectors(1))
    cache.clear()
    assert len(cache) == cache.stats.bytes == 0
    assert EmbeddingCache(0).get(key(1)) is None
    for bad in (-1, 1.5, True):
        with pytest.raises(InvalidInput, match="max_bytes"):
            EmbeddingCache(bad)  # type: ignore[arg-type]
