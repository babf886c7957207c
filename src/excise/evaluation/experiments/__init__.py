"""What is run: systems over suites and pairs, the noise test of constants, the diagnosis."""
