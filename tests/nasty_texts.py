"""Texts that nobody should have to handle, in any number, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_WORDS = (
    "electric", "cars", "but", "not", "Tesla", "home", "bread", "without", "rye", "recipes", "except", "nuts", "the",
    "best", "films", "other", "than", "Alien",
)  # fmt: skip
_SCRIPTS = (
    (0x0041, 0x024F), (0x0370, 0x03FF), (0x0400, 0x04FF), (0x0590, 0x05FF), (0x0600, 0x06FF), (0x0900, 0x097F),
    (0x0E00, 0x0E7F), (0x1000, 0x109F), (0x1200, 0x137F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xFB00, 0xFB06), (0x10330, 0x1034A), (0x1D400, 0x1D7FF),
)  # fmt: skip
_MARKUP = (
    "<script>alert('x')</script>", "<b>", "</a>", "<!--", "]]>", "&amp;", "&#0;", "&lt", "[bold red]", "[/]", "[x=y]",
    "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[unused0]", "</s>", "<|endoftext|>", "##ing", "{{7*7}}", "${HOME}",
    "%s%n%x", "{0}", "{query}", "\\x00", "\\ud83d", "\\", "`id`", "$(id)", "'; DROP TABLE x; --", '" OR 1=1', "../..",
    "file:///", "\x1b[2J", "\x1b]0;title\x07", "\x1b[31m", "**bold**", "# heading", "|a|b|", "NaN", "null", "-Infinity",
)  # fmt: skip
_OPERATORS = (
    "-tesla",
    "+car",
    '"exact',
    "site:x.org",
    "NOT",
    "AND",
    "(a OR",
    "--",
    "-",
    "--exclude",
    "-k",
    "!rye",
    "~x",
)
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿…«»„•§¶†‡\u2013\u2014\u2018\u2019\u201c\u201d\u3002\u30fb"
_CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_INVISIBLE = "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u2061\ufe0f\ufeff\ufff9\ufffa\ufffb\U000e0001\U000e0041"
_BREAKS = ("\n", "\r", "\r\n", "\n\r", "\v", "\f", "\x85", "\u2028", "\u2029", "\t", "\u00a0", "\u3000")
# Characters that change their length or their kind with their case or form.
_FOLDED = "ßẞİ\u0131ŉǰΐΰ\ufb00\ufb03\ufb05\u017f\u212a\u212bΣςⅣ①㎏½"
_EMOJI = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f1e9\U0001f1ea",
    "\U0001f1e9", "\U0001f44d\U0001f3fd", "\U0001f3fd", "1\ufe0f\u20e3", "☕\ufe0f", "\u200d",
    "\U0001f3f4\U000e0067\U000e007f",
)  # fmt: skip


def _some(chance: random.Random, pool: str | tuple[str, ...] | list[str], most: int) -> list[str]:
    return chance.choices(pool, k=chance.randint(1, most))


def _plain(chance: random.Random, most: int = 8) -> list[str]:
    return _some(chance, _WORDS, most)


def _mixed(chance: random.Random, pool: str | tuple[str, ...] | list[str]) -> str:
    """Ordinary words with pieces of a pool between them and inside of them."""
    pieces = _plain(chance) + ["".join(_some(chance, pool, 4)) for _ in range(chance.randint(1, 4))]
    chance.shuffle(pieces)
    return chance.choice(("", " ", " ")).join(pieces)


def _surrogates(chance: random.Random) -> str:
    return _mixed(chance, [chr(chance.randrange(0xD800, 0xE000)) for _ in range(4)] + ["\ud83d\ude00", "\udcff\udc80"])


def _storm(chance: random.Random) -> str:
    marks = [chr(chance.randrange(0x0300, 0x0370)) for _ in range(chance.randint(1, 400))]
    return " ".join([*_plain(chance), chance.choice("aZ0 ") + "".join(marks), *_plain(chance)])


def _scripts(chance: random.Random) -> str:
    def word() -> str:
        first, last = chance.choice(_SCRIPTS)
        return "".join(chr(chance.randint(first, last)) for _ in range(chance.randint(1, 9)))

    return " ".join([word() for _ in range(chance.randint(1, 8))] + _plain(chance, 4))


def _anything(chance: random.Random) -> str:
    return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(1, 60)))


def _enormous(chance: random.Random) -> str:
    length = chance.choice((100, 513, 2_000, 19_000, 25_000))
    return " ".join(
        [*_plain(chance), chance.choice(("x", "ß", "İ", "é", "漢", "\U0001f600", "-", "a-", "a.")) * length]
    )


def _long(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.choice((300, 999, 1_000, 1_001, 3_000))))


def _nothing(chance: random.Random) -> str:
    return "".join(chance.choices(("", *_BREAKS, " "), k=chance.randint(0, 5)))


# Long texts cost seconds in their thousands, and are all alike: they are fewer.
_KINDS: tuple[tuple[int, Callable[[random.Random], str]], ...] = (
    (12, _surrogates),
    (10, lambda chance: _mixed(chance, _CONTROLS)),
    (8, lambda chance: _mixed(chance, _DIRECTIONS)),
    (8, lambda chance: _mixed(chance, _INVISIBLE)),
    (4, _storm),
    (12, lambda chance: _mixed(chance, _MARKUP)),
    (8, lambda chance: " ".join(chance.sample([*_plain(chance), *_some(chance, _OPERATORS, 5)], k=2))),
    (8, lambda chance: _mixed(chance, _OPERATORS)),
    (6, lambda chance: "".join(_some(chance, _PUNCTUATION, 30))),
    (8, lambda chance: _mixed(chance, _EMOJI)),
    (8, lambda chance: _mixed(chance, _BREAKS)),
    (8, lambda chance: _mixed(chance, _FOLDED)),
    (10, _scripts),
    (10, _anything),
    (1, _enormous),
    (1, _long),
    (3, _nothing),
)


def nasty_text(chance: random.Random) -> str:
    """One text: of one kind, or of two kinds joined as a query that excludes the second."""
    weights, kinds = zip(*_KINDS, strict=True)
    one, other = chance.choices(kinds, weights, k=2)
    if chance.random() < 0.7:
        return one(chance)
    return f"{one(chance)}{chance.choice((' but not ', ', without ', ' -', ' except for '))}{other(chance)}"


def nasty_texts(count: int, seed: int) -> Iterator[str]:
    """So many texts."""
    chance = random.Random(seed)
    for _ in range(count):
        yield nasty_text(chance)
