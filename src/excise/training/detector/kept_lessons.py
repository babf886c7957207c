"""What teachers said, kept in a folder: another student, or the same one after a break, need not ask again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from excise.progress import Progress, silent
from excise.topics.detector import WEIGHTS
from excise.training.detector.examples import Example
from excise.training.detector.teaching import Lesson, lessons, load_teacher


def asked_once(
    folder: Path, teacher: Path, examples: Sequence[Example], max_tokens: int, progress: Progress = silent
) -> list[Lesson]:
    """What a teacher says of each example's query, from the folder where it has been asked the same before.

    Parameters
    ----------
    folder
        where lessons are kept; made where it is missing.
    teacher
        the teacher's folder.
    examples
        the queries.
    max_tokens
        how much of each query is read.
    progress
        called while the teacher is asked.
    """
    file = folder / f"lessons-{_question(teacher, examples, max_tokens)}.safetensors"
    if not file.exists():
        _write(file, lessons(load_teacher(teacher), examples, max_tokens, progress))
    return _read(file)  # what was just written too: a run that goes on must learn the same to the last bit


def _question(teacher: Path, examples: Sequence[Example], max_tokens: int) -> str:
    """What makes one asking the same as another: who is asked what."""
    asked = blake2b((teacher / WEIGHTS).read_bytes(), digest_size=16)
    asked.update(json.dumps([max_tokens, [example.text for example in examples]]).encode())
    return asked.hexdigest()


def _write(file: Path, said: Sequence[Lesson]) -> None:
    import torch
    from safetensors.torch import save_file

    file.parent.mkdir(parents=True, exist_ok=True)
    tensors = {
        "tags": torch.cat([lesson.tags for lesson in said]).half(),
        "lengths": torch.tensor([len(lesson.tags) for lesson in said]),
        "queries": torch.tensor([lesson.query for lesson in said]),
    }
    temporary = file.with_suffix(".new")
    save_file(tensors, temporary)
    temporary.replace(file)


def _read(file: Path) -> list[Lesson]:
    import torch
    from safetensors.torch import load_file

    stored = load_file(file)
    tags = torch.split(stored["tags"].float(), stored["lengths"].tolist())
    return [Lesson(own, query) for own, query in zip(tags, stored["queries"].tolist(), strict=True)]
