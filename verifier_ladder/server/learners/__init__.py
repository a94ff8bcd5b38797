"""What learners send to a reward server of their own, and take from it: one module for each."""
