"""What a campaign looks like: reports of where it stands, as JSON and as pages that the server draws."""
