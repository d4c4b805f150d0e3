"""What changed in a Hudi table since the last look, without listing what did not .

An *instant* is the time that names one action on a table's *timeline*; a *commit* is a completed
action that wrote files. A *file group* keeps a set of rows through their rewrites; its *slice*
is one base file with the logs on top. A *bookmark* is the instant up to which a reader has seen.
"""
