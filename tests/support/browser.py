"""The browser that pages are tested in; tests that need one are skipped where there is none."""

import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
NO_BROWSER = "no Chromium on the PATH, and none comes with requirements.lock"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
