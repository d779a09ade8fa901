"""`napinn app`: a page on this machine, from a file of readings to a report, for people who do not use a terminal.

The server keeps nothing of value in memory. An analysis is a folder: the readings, a draft of the problem, and the run
folders of its fits. A fit is a process of its own, `napinn fit`, which neither a closed page nor a killed server ends.
"""
