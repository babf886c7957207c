"""Text to token vectors: frozen backbones, the exclusion adapter beside them, and the cache of what it re-embeds."""
