"""The notebooks run, and show what they say."""
