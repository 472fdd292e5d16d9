"""The data that travels: frozen records with units in their names. `None` means not known; ratios run from 0 to 1."""
