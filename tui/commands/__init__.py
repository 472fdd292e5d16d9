"""The subcommands, one file each, imported only when used."""
