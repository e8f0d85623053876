"""Random groups, most of them healthy: those raise no alarm, and the others exactly the one for their fault."""
