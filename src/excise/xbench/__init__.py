"""X-Bench: an exclusion benchmark out of any corpus.

    mine   documents that are easily confused: a gold and up to two negatives
    write  a language model words the queries: T1 explicit, T2 implicit, T3 compound
    judge  another model says whether the labels hold
    gate   nine gates; what passes all of them becomes a suite that ``excise eval`` reads
    grade  a model grades what every query finds, so that a suite knows what else covers Z
    audit  checks on a finished suite

Every step reads and writes one run folder (:mod:`excise.xbench.bench_folder`) and goes on where it stopped.
"""
