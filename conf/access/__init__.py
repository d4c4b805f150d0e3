"""Rules about who may read and write what.

`rules`, `people`, `masks` and `quotas` are the rules; `document` reads them from a file, `ranger`
from the policies of Apache Ranger.
"""
