"""Step counters: every way in, the formats they are written in, and the point where readings meet."""
