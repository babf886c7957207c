"""OpenSearch responses, less what the query excludes: the shape is Elasticsearch's, and so are the functions."""

from __future__ import annotations

from excise.integrations.elasticsearch import rerank_hits, rerank_response

__all__ = ["rerank_hits", "rerank_response"]
