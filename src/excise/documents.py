"""What is indexed: documents, and the corpora on disk that they are read from."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from excise.errors import BadCorpus, InvalidInput
from excise.text import clean

TEXT_SUFFIXES = (".txt", ".md")
_FIELD_LIMIT = 16 * 1024 * 1024  # characters in one CSV field or one JSON line; a filing has about 70,000
_ID_LIMIT = 512
_METADATA_LIMIT = 64 * 1024  # characters of one document's metadata, as JSON
_METADATA_DEPTH = 8
_BYTES = re.compile("[\udc80-\udcff]")  # what a byte that is not UTF-8 is read as


@dataclass(frozen=True)
class Document:
    """A document to index: an id that is unique in the index, a text, and perhaps a title; all three cleaned.

    ``metadata`` is a JSON object of whatever else is known of it. Searches can filter by its fields
    (:mod:`excise.filters`); it is not encoded.

    Examples
    --------
    >>> Document("leaf", "Nissan's hatchback.", title="Nissan Leaf").full_text
    "Nissan Leaf. Nissan's hatchback."
    >>> Document("leaf", "Nissan's hatchback.", metadata={"year": 2010}).metadata["year"]
    2010
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise InvalidInput(f"a document needs a non-empty id, got {self.id!r}.")
        if len(self.id) > _ID_LIMIT:
            raise InvalidInput(
                f"the id {self.id[:40]!r}... has {len(self.id)} characters; at most {_ID_LIMIT} are taken."
            )
        if not isinstance(self.title, str) or not isinstance(self.text, str):
            raise InvalidInput(f"document {self.id!r}: title and text must be strings.")
        if not self.text.strip():
            raise InvalidInput(f"document {self.id!r} has an empty text.")
        for name in ("id", "text", "title"):
            object.__setattr__(self, name, clean(getattr(self, name)))
        if self.metadata:
            object.__setattr__(self, "metadata", _checked_metadata(self.id, self.metadata))

    @property
    def full_text(self) -> str:
        """Title and text as one: what is encoded."""
        if not self.title.strip():
            return self.text
        stop = " " if self.title.rstrip()[-1] in ".!?:" else ". "
        return self.title.rstrip() + stop + self.text

    @classmethod
    def from_record(cls, record: Any) -> Document:
        """From a mapping with ``_id`` or ``id``, ``text`` and perhaps ``title`` and ``metadata``."""
        if isinstance(record, Document):
            return record
        if not isinstance(record, Mapping):
            raise InvalidInput(f"a document must be an object with 'id' and 'text', got {type(record).__name__}.")
        key = next((key for key in ("_id", "id") if record.get(key) is not None), None)
        if key is None:
            raise InvalidInput("a document needs an '_id' or 'id'.")
        if isinstance(record[key], bool) or not isinstance(record[key], str | int):
            raise InvalidInput(f"a document's id must be a string or a whole number, got {record[key]!r}.")
        id = _written(record[key])
        if "text" not in record:
            raise InvalidInput(f"document {id!r} has no 'text'.")
        return cls(id, record["text"], record.get("title") or "", record.get("metadata") or {})


def _checked_metadata(id: str, metadata: Any) -> dict[str, Any]:
    """Metadata as plain JSON, a copy of its own, its texts cleaned."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"document {id!r}: metadata must be an object, got {type(metadata).__name__}.")
    plain: dict[str, Any] = _plain(id, metadata, 1)
    length = len(json.dumps(plain, ensure_ascii=False))
    if length > _METADATA_LIMIT:
        raise InvalidInput(
            f"document {id!r}: its metadata has {length:,} characters; at most {_METADATA_LIMIT:,} are taken."
        )
    return plain


def _plain(id: str, value: Any, depth: int) -> Any:
    if depth > _METADATA_DEPTH:
        raise InvalidInput(f"document {id!r}: its metadata is nested more than {_METADATA_DEPTH} deep.")
    if isinstance(value, str):
        return clean(value).replace("\0", "\N{REPLACEMENT CHARACTER}")  # which databases cannot hold
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return {_plain(id, str(key), depth): _plain(id, one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(id, one, depth + 1) for one in value]
    raise InvalidInput(f"document {id!r}: metadata must be plain JSON, got {value!r}.")


def _written(id: str | int) -> str:
    try:
        return str(id)
    except ValueError:  # Python writes no number of more than some four thousand digits
        raise InvalidInput(
            f"a document's id is an enormous number; at most {_ID_LIMIT} characters are taken."
        ) from None


@dataclass
class Corpus:
    """The documents of one or more paths, read as a stream; iterating again reads again.

    JSON lines (``_id`` or ``id``, ``title``, ``text``, ``metadata``), CSV and TSV with those columns, a BEIR folder
    (``corpus.jsonl`` inside), or a folder of .txt and .md files. A line that cannot be used stops the reading with a
    sentence that names file and line, unless ``skip_bad`` is set: then it is passed over and counted in ``skipped``.
    """

    paths: Sequence[Path]
    skip_bad: bool = False
    skipped: int = 0

    def __post_init__(self) -> None:
        if not self.paths:
            raise BadCorpus("name at least one corpus: a file or a folder.")
        for path in self.paths:
            if not _exists(path):
                raise BadCorpus(f"{path}: no such file or folder.")

    def __iter__(self) -> Iterator[Document]:
        self.skipped = 0
        seen: dict[str, str] = {}
        for where, record in self._records():
            try:
                if isinstance(record, BadCorpus):
                    raise record
                document = Document.from_record(record)
                if document.id in seen:
                    raise InvalidInput(f"the id {document.id!r} was already used at {seen[document.id]}.")
            except (InvalidInput, BadCorpus) as error:
                if not self.skip_bad:
                    raise BadCorpus(f"{where}: {error} (--skip-bad passes such lines over)") from None
                self.skipped += 1
                continue
            seen[document.id] = where
            yield document

    def _records(self) -> Iterator[tuple[str, Any]]:
        for path in self.paths:
            try:
                yield from _read_folder(path) if path.is_dir() else _read_file(path)
            except OSError as error:
                raise BadCorpus(f"{path}: cannot be read ({error.strerror}).") from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a text of some length, taken for the name of a file
        return False


def _read_folder(folder: Path) -> Iterator[tuple[str, Any]]:
    beir = folder / "corpus.jsonl"
    if beir.is_file():
        yield from _read_file(beir)
        return
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in TEXT_SUFFIXES and path.is_file())
    if not files:
        raise BadCorpus(f"{folder}: holds neither a corpus.jsonl nor any {' or '.join(TEXT_SUFFIXES)} file.")
    for path in files:
        yield str(path), _text_file(path, folder)


def _text_file(path: Path, folder: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        return BadCorpus(f"not UTF-8 text ({error.reason} at byte {error.start}).")
    first, _, rest = text.lstrip().partition("\n")
    if first.startswith("# ") and rest.strip():
        return {"id": path.relative_to(folder).as_posix(), "title": first[2:].strip(), "text": rest.strip()}
    return {"id": path.relative_to(folder).as_posix(), "title": "", "text": text}


def _read_file(path: Path) -> Iterator[tuple[str, Any]]:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        yield from _read_table(path, "," if suffix == ".csv" else "\t")
    elif suffix in TEXT_SUFFIXES:
        yield str(path), _text_file(path, path.parent)
    elif suffix in (".jsonl", ".ndjson", ".json"):
        yield from _read_jsonl(path)
    else:
        raise BadCorpus(f"{path}: unknown kind of file {suffix!r}; .jsonl, .csv, .tsv, .txt and .md are read.")


def _read_jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{path}, line {number}", _parsed(line)


def _parsed(line: bytes) -> Any:
    if len(line) > _FIELD_LIMIT:
        return BadCorpus(f"the line has {len(line)} bytes; at most {_FIELD_LIMIT} are read.")
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return BadCorpus(f"not UTF-8 text ({error.reason} at byte {error.start}).")
    except (ValueError, RecursionError) as error:  # not only JSONDecodeError: a number of too many digits is another
        return BadCorpus(f"not valid JSON ({error}).")


def _read_table(path: Path, delimiter: str) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(_FIELD_LIMIT)
    # Bytes that are not UTF-8 come through as lone surrogates, and are told row by row.
    with path.open(encoding="utf-8-sig", newline="", errors="surrogateescape") as lines:
        rows = csv.DictReader(lines, delimiter=delimiter)
        names = rows.fieldnames or []
        if "text" not in names or not {"_id", "id"} & set(names):
            raise BadCorpus(f"{path}, line 1: the header needs the columns 'id' (or '_id') and 'text', got {names}.")
        while True:
            where = f"{path}, line {rows.line_num + 1}"
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield where, BadCorpus(f"not a valid row ({error}).")
                continue
            if None in row or None in row.values():
                yield where, BadCorpus(f"the row does not have the header's {len(names)} columns.")
            elif any(map(_BYTES.search, row.values())):
                yield where, BadCorpus("not UTF-8 text.")
            else:
                yield where, _with_metadata(row)


def _with_metadata(row: dict[str, Any]) -> Any:
    """A row whose column ``metadata``, where it has one, is read as JSON."""
    written = row.get("metadata")
    if not written:
        return row
    read = _parsed(written.encode())
    if isinstance(read, BadCorpus):
        return BadCorpus(f"the column 'metadata' is {read}")
    return {**row, "metadata": read}


def read_documents(source: Any, skip_bad: bool = False) -> Corpus | list[Document]:
    """Documents from what a caller may hold: a path, several paths, or an iterable of documents or mappings."""
    if isinstance(source, str | Path):
        return Corpus([Path(source)], skip_bad)
    items = list(source) if isinstance(source, Iterable) else None
    if items is None:
        raise InvalidInput(f"documents must be a path or a list, got {type(source).__name__}.")
    if items and all(isinstance(item, str | Path) for item in items):
        return Corpus([Path(item) for item in items], skip_bad)
    documents = [Document.from_record(item) for item in items]
    ids: set[str] = set()
    for document in documents:
        if document.id in ids:
            raise InvalidInput(f"the id {document.id!r} stands for two documents.")
        ids.add(document.id)
    return documents
