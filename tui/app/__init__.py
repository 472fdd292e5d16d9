"""The live application: its actions, its options and how the stream reaches it."""
