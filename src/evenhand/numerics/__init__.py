"""Small numerical kernels, which tests compare with plain NumPy versions, and intervals."""
