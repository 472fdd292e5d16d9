"""Pieces of the screen. Painters are pure: figures in, lines out; `line_panel` puts lines on the terminal."""
