"""Small numerical kernels; their plain NumPy twins live in the tests."""
