"""Services: a heavy model is loaded once on a machine, by one process that all workers ask."""
