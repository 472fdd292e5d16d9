"""Small state on disk under the XDG state directory."""
