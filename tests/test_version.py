"""One version: the module's, the metadata's, the licence's."""

from importlib import metadata

import vertwin
from vertwin.version import VERSION


def test_the_package_says_the_version_that_its_metadata_says():
    assert vertwin.__version__ == VERSION == metadata.version("vertwin")


def test_the_licence_is_in_the_metadata():
    assert metadata.metadata("vertwin")["License-Expression"] == "Apache-2.0"
