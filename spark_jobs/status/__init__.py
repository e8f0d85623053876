"""How each group fared in a step: counts, backlog, what made it grow, and whether more consumers would have helped."""
