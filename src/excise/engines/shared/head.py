"""The head of an index in a database: the one record that says which state is committed."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field, replace

from excise.errors import BadIndex
from excise.vectors.encoded import EncoderInfo

_FORMAT, _VERSION = "excise-engine", 1
_WHOLE = ("generation", "next_place")
_TEXTS = ("id", "commit")


def fresh_key() -> str:
    """A name that nobody else has."""
    return uuid.uuid4().hex[:12]


@dataclass(frozen=True)
class Head:
    """One committed state.

    Attributes
    ----------
    encoder
        which encoder the vectors come from.
    id
        tells this index from all others.
    generation
        how many commits there were. Documents carry the generation that brought them and the one that took them away.
    commit
        tells this commit from all others.
    next_place
        the place of the next document; places grow in the order of indexing and are never used again.
    """

    encoder: EncoderInfo
    id: str = field(default_factory=fresh_key)
    generation: int = 0
    commit: str = ""
    next_place: int = 1

    @property
    def fingerprint(self) -> str:
        """Differs between any two states of any index."""
        return "-".join(filter(None, (self.encoder.fingerprint, self.id, str(self.generation), self.commit)))

    def following(self, added: int = 0) -> Head:
        """The next state, with so many more documents placed."""
        return replace(self, generation=self.generation + 1, commit=fresh_key(), next_place=self.next_place + added)

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps({"format": _FORMAT, "version": _VERSION, **asdict(self)})

    @classmethod
    def from_json(cls, written: object, name: str) -> Head:
        """Read and check; ``name`` is the index's, for the sentence with which anything strange is refused.

        Examples
        --------
        >>> head = Head(EncoderInfo("made-up", "0", 2, 200, 1000)).following(added=3)
        >>> Head.from_json(head.to_json(), "somewhere") == head
        True
        """
        try:
            record = json.loads(written if isinstance(written, str) else "")
            if record["format"] != _FORMAT:
                raise ValueError("it has another format")
            if record["version"] != _VERSION:
                raise BadIndex(f"{name} has version {record['version']}; this excise reads version {_VERSION}.")
            for key, kind in (*((key, int) for key in _WHOLE), *((key, str) for key in _TEXTS)):
                if not isinstance(record[key], kind) or isinstance(record[key], bool):
                    raise ValueError(f"its {key} is {str(record[key])[:40]!r}")
            values = {key: record[key] for key in (*_WHOLE, *_TEXTS)}
            return cls(EncoderInfo.from_record(record["encoder"]), **values)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadIndex(f"{name} is damaged: its head is not one that excise wrote ({error}).") from error
