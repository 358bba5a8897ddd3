"""Hours of traffic: chances that are none are refused."""
