"""When a run will finish, from its steps so far."""
