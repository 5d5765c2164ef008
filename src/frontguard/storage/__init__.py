"""Where studies are kept: the contract, and its backends."""
