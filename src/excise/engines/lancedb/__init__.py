"""LanceDB as an engine: columns in a folder or in object storage, with no server."""
