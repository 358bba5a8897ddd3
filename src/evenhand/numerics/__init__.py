"""Small numerical kernels; the tests compare them with plain NumPy versions."""
