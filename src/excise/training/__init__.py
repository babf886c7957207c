"""How every shipped weight file is made."""
