"""Themes: files of colours by meaning, and the styles made of them."""
