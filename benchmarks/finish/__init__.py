"""How near finish times come, beside what progress bars say of the same runs."""
