"""Go's clients as judges: each is run on the embedded cluster and on the real one, and both must answer the same."""
