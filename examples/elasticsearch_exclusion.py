"""An Elasticsearch or OpenSearch response with exclusions: the same JSON, less what the query excludes.

python examples/elasticsearch_exclusion.py RESPONSE.json "electric cars, but not Tesla" > less.json
RESPONSE.json is what the search API answered; with a client: rerank_response(search, query, client.search(...)).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import excise
from excise.integrations.elasticsearch import rerank_response


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    response = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps(rerank_response(excise.load(), sys.argv[2], response, size=10), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
