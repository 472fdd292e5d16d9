"""The probe: what `traintop run` puts into a run, and the reader of the file in which it shows what it counted."""
