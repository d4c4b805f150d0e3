"""Entity documents: what a cluster, a feed and a process are, and how they are read.

    text -> `tree.Element` -> (`grammar`: every problem) -> `model` -> (`rules`: every problem)

`tree` reads XML within bounds, `grammar` says what the elements look like, `model` has the
nouns and `rules` what one document says of others. `calendar`, `expression` and `catalog_uri`
are the three small languages inside the documents. All of it is pure.
"""
