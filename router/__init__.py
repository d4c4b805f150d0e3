"""Where a statement runs: a pure function from request and facts to a decision."""
