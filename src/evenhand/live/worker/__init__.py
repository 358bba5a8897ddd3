"""Workers: requests in transactions, with a fold that is in step with the log."""
