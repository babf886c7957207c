"""What engines on other machines have in common: generations, leases, and MaxSim over what a database hands out."""
