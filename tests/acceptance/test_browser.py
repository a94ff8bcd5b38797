"""The browser that other tests look at pages with."""

from pathlib import Path
from typing import Any

import pytest

PAGE = "<!doctype html><p id=x>before</p><script>x.textContent = 6 * 7</script>"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


@pytest.mark.browser
def test_a_page_on_disk_is_read_after_its_scripts_have_run(browser: Any, page: Path) -> None:
    assert '<p id="x">42</p>' in browser.dom(page)


@pytest.mark.browser
def test_a_page_on_disk_is_drawn(browser: Any, page: Path, tmp_path: Path) -> None:
    picture = browser.screenshot(page, tmp_path / "page.png")

    assert picture.read_bytes().startswith(b"\x89PNG")
