"""What can be measured: the operator and its variants, the interventions, the controls, BM25."""
