"""Plans: the history of contexts, a model's forecast for them, and the fluid problem."""
