"""The reward server: a campaign behind HTTP. Needs the extra `server`."""
