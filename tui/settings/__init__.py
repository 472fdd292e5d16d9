"""The settings file of the user."""
