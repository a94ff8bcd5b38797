"""The scheduler: how far each candidate climbs, and what the learner is told meanwhile."""
