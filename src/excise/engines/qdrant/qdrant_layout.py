"""How a collection is laid out when excise makes it."""

from __future__ import annotations

import time
from typing import Any

from excise.engines.qdrant.qdrant_options import QdrantOptions
from excise.engines.shared.head import Head

TOKENS, POOLED = "tokens", "pooled"
HEAD_ID = "00000000-0000-0000-0000-000000000000"
_HEAD_PATIENCE, _PAUSE = 5.0, 0.05
_INDEXED = {"id": "keyword", "window": "integer", "born": "integer", "died": "integer"}


def create_collection(client: Any, options: QdrantOptions, head: Head) -> None:
    """Make the collection and put the head into it; of several that try at once, one does."""
    from qdrant_client import models

    if not _created(client, options, head.encoder.dimensions):
        # Somebody else makes it, or was interrupted in making it: then the head does not come.
        deadline = time.monotonic() + _HEAD_PATIENCE
        while not _has_head(client, options) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
    if not _has_head(client, options):
        payload = {"excise": head.to_json(), "lease": 0.0, "writer": ""}
        client.upsert(options.collection, [models.PointStruct(id=HEAD_ID, vector={}, payload=payload)], wait=True)


def _has_head(client: Any, options: QdrantOptions) -> bool:
    return bool(client.retrieve(options.collection, [HEAD_ID], with_payload=False))


def _created(client: Any, options: QdrantOptions, dimensions: int) -> bool:
    """Whether this call has made the collection."""
    from qdrant_client import models
    from qdrant_client.http.exceptions import UnexpectedResponse

    if client.collection_exists(options.collection):
        return False
    try:
        client.create_collection(
            options.collection,
            vectors_config=_vectors(options, dimensions),
            shard_number=options.shards or None,
            replication_factor=options.replicas or None,
            write_consistency_factor=options.replicas // 2 + 1 if options.replicas > 1 else None,
            on_disk_payload=options.on_disk or None,
        )
    except (UnexpectedResponse, ValueError):
        if client.collection_exists(options.collection):
            return False
        raise
    if options.remote:
        for key, kind in _INDEXED.items():
            client.create_payload_index(options.collection, key, field_schema=models.PayloadSchemaType(kind))
    return True


def is_ours(client: Any, collection: str) -> bool:
    """Whether a collection with no head is one that excise was interrupted in making."""
    vectors = client.get_collection(collection).config.params.vectors
    named = isinstance(vectors, dict) and set(vectors) == {TOKENS, POOLED}
    return named and client.count(collection, exact=True).count == 0


def _vectors(options: QdrantOptions, dimensions: int) -> dict[str, Any]:
    from qdrant_client import models

    quantization: Any = None
    if options.quantization == "scalar":
        quantization = models.ScalarQuantization(scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8))
    elif options.quantization == "binary":
        quantization = models.BinaryQuantization(binary=models.BinaryQuantizationConfig())
    tokens = models.VectorParams(
        size=dimensions,
        distance=models.Distance.DOT,
        datatype=models.Datatype.FLOAT16,
        on_disk=options.on_disk or None,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        # A graph over all token vectors is large; it is made only where it is searched.
        hnsw_config=None if options.mode == "hnsw" else models.HnswConfigDiff(m=0),
        quantization_config=quantization,
    )
    return {TOKENS: tokens, POOLED: models.VectorParams(size=dimensions, distance=models.Distance.DOT)}
