"""Links of a page to files outside of docs/ lead to the repository: the site does not contain them."""
import posixpath
import re

REPOSITORY = "https://github.com/hosted-control-planes/hypershift/blob/main/"
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def link(match):
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        if path.startswith("docs/") and path.endswith((".md", ".png", ".svg")):
            return match[0]
        return f"]({REPOSITORY}{path}{match[2] or ''})"

    return LINK.sub(link, markdown)
