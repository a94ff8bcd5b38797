"""In a notebook and on paper: cards of campaigns, rewards and verdicts, and plots of campaigns."""
