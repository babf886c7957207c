"""The HTTP service: an API over one operator, the page at ``/``, and the client. The extra ``serve`` brings it."""
