"""The terminal itself: what it can do, the first picture, the driver below Textual, and the ending."""
