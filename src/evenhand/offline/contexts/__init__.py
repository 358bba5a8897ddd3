"""Plans over contexts that do not fit in memory, which are read in passes."""
