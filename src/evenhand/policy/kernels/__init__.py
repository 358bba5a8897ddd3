"""The loop body in kernels: rounds of policies whose parts all have views, one by one or many in one call."""
