"""Exclusion behind other people's first stages: one thin file a library, imported when it is wanted."""
