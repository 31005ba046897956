"""The job store's database: all SQL of the project is in this folder, a module per concern.

==============  ==========================================================================================
database.py     one SQLite connection that threads may share
schema.py       the tables and their versions
requests.py     what visitors do with jobs: add, cancel, retry, look
queue.py        what the worker and its children do with jobs: claim, report, finish
contents.py     the datasets, query rows, metrics and files that jobs refer to
removal.py      which rows may go, and removing them
worker_row.py   the row in which the worker says that it lives
visibility.py   which rows a visitor may see, as a condition
==============  ==========================================================================================
"""
