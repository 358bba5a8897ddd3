"""Planning on the contexts so far: their history, what a model forecasts for them, and the fluid problem."""
