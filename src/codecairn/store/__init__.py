"""What outlives the process. All SQL is here, and the question where data lies is answered here."""
