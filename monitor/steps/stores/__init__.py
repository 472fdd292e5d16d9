"""Files in which programs keep figures for machines: event files, tables, run folders. One file a store."""
