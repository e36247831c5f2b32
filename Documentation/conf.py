# SPDX-License-Identifier: GPL-2.0
"""What Sphinx needs to make pages of the documents; qemu/htmldocs runs it.

The documents link to each other by the names of their files, which forges follow.  Pages have other
names.
"""

import re

from docutils import nodes
from sphinx.util import logging

project = "ferroprobe"
root_doc = "index"
exclude_patterns = ["pictures"]
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "72em", "sidebar_width": "16em"}
html_show_copyright = False
html_copy_source = False

logger = logging.getLogger(__name__)
document = re.compile(r"([\w-]+)\.rst(?:#([\w-]+))?")


def add_contents(_app, name, source):
    """Sphinx wants the documents in a directive, which forges do not know."""
    if name == root_doc:
        names = dict.fromkeys(re.findall(r"^\.\. _([\w-]+)\.rst:", source[0], re.M))
        source[0] += "\n.. toctree::\n   :hidden:\n\n"
        source[0] += "".join(f"   {name}\n" for name in names)


def note_sections(app, doctree):
    """Keeps the sections of each document, to which others link."""
    if not hasattr(app.env, "ferroprobe_sections"):
        app.env.ferroprobe_sections = {}
    sections = doctree.findall(nodes.section)
    app.env.ferroprobe_sections[app.env.docname] = {i for s in sections for i in s["ids"]}


def link_pages(app, doctree, name):
    """A link to a document leads to its page."""
    for link in doctree.findall(nodes.reference):
        to = document.fullmatch(link.get("refuri", ""))
        if to is None:
            continue
        page, section = to.groups()
        if page not in app.env.all_docs:
            logger.warning("no document %s.rst", page, location=link)
            continue
        if section and section not in app.env.ferroprobe_sections[page]:
            logger.warning("no section %s in %s.rst", section, page, location=link)
        link["refuri"] = app.builder.get_relative_uri(name, page)
        link["refuri"] += f"#{section}" if section else ""
        link["internal"] = True


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("doctree-read", note_sections)
    app.connect("doctree-resolved", link_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
