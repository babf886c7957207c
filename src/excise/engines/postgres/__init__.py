"""PostgreSQL with pgvector as an engine: transactions, filters in SQL, a graph over pooled vectors."""
