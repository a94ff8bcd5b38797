"""Learners: one module per reinforcement-learning library, each in that library's words."""
