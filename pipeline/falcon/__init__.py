"""Entity documents of clusters, feeds and processes, and how they are read.

    text -> `tree.Element` -> (`grammar`: every problem) -> `model` -> (`rules`: every problem)

`tree` reads XML with limits, `grammar` describes the elements, `model` has the entities, and
`rules` checks a document and its references. `calendar`, `expression` and `catalog_uri` are the
three small languages inside the documents. All of it is pure.
"""
