"""Whatever the pages import, imported by one thread while the others wait. Every script imports this before all else.

Streamlit runs each visitor's script in a thread of its own. Several that come at once to a server that has just started
would import the same packages from different ends; Python then hands out modules that are half done, and the server
shows errors until it is started again. The import of this module is one lock for all of it.

For the same reason numpy and torch get one thread each before they are loaded: visitors share the cores already, and on
a few hundred points in the plane a second thread is only waited for. What is large runs in jobs, which have their own.
"""

import importlib
import os
import pkgutil

import pages.components

os.environ.setdefault("OMP_NUM_THREADS", "1")
for found in pkgutil.walk_packages(pages.components.__path__, "pages.components."):
    if found.name != __name__:
        importlib.import_module(found.name)
