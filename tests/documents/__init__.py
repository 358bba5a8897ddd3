"""Code and commands of all pages run: what a page shows is run here, in a named test, or is listed with a reason."""
