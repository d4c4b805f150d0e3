"""Falcon's documents of clusters, feeds, processes and datasources, and their rules. Pure.

    bytes -> `documents.tree` -> `documents.grammar` -> `documents.document` -> entity -> `rules`

`tree` reads XML with limits, `grammar` checks its elements, `document` makes an entity of it, and
`rules` checks the entity and its references. `calendar`, `expression` and `catalog_uri` read the
three small languages inside the documents. `inputs` and `paths` say which data an instance reads
and writes.
"""
