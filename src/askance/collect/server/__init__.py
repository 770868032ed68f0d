"""The server of a campaign: what is sent is acknowledged when it is durable, and nothing is kept of who sent it."""
