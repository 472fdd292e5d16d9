"""What a person sees: command line, Textual app, screens, widgets, outputs. The only importer of textual."""
