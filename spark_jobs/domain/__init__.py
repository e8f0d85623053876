"""Every rule, in plain Python and NumPy: no Spark, no path, no clock."""
