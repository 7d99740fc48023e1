"""Statistics, figures and tables from run folders."""
