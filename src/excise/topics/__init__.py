"""What a query excludes: the detector, from tokens to whole topics, and where a query names them."""
