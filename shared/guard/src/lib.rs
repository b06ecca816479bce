//! Decides at every container start whether a volume may be used: tickets, markers and the decision table.
