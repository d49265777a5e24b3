"""What is promised to whom, as pure data and closed forms; `accountant.py` alone calls dp-accounting.

Everything but `accountant.py` works in the base installation: whoever receives a release can compute its epsilons.
"""
