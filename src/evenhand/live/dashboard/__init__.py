"""Reports of a campaign's status, as JSON and as pages that the server renders."""
