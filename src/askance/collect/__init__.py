"""From a campaign to evidence: a device kit, a store that loses nothing, a server, live estimates."""
