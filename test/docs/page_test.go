package docs

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// page is one document, cut into the parts that the checks read.
type page struct {
	name   string // relative to the root of the repository
	prose  []text // lines of prose, with their code spans
	blocks []text // code blocks
}

// text is a part of a page, and the number of its first line.
type text struct {
	line    int
	content string
}

var (
	fence = regexp.MustCompile("^ *```(\\w*)")
	item  = regexp.MustCompile(`^ *(?:[-*]|\d+\.) `)
)

// parse cuts a document of Markdown. Code is either fenced, or indented by four columns after an empty line. Drawings are left out.
func parse(name, content string) page {
	p := page{name: name}
	var block []string
	first, fenced, drawing := 0, false, false
	end := func() {
		if code := strings.TrimRight(strings.Join(block, "\n"), "\n "); code != "" && !drawing {
			p.blocks = append(p.blocks, text{first, code})
		}
		block, drawing = nil, false
	}
	list, empty := 0, true // columns of the text of the list item, and whether the line before is empty
	for i, line := range strings.Split(content, "\n") {
		if found := fence.FindStringSubmatch(line); found != nil {
			if !fenced {
				end()
				first, drawing = i+2, found[1] == "mermaid"
			} else {
				end()
			}
			fenced = !fenced
			continue
		}
		indented := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case fenced:
			block = append(block, line)
		case strings.TrimSpace(line) == "":
			if block != nil {
				block = append(block, "")
			}
		case indented >= list+4 && (block != nil || empty):
			if block == nil {
				first = i + 1
			}
			block = append(block, line[list+4:])
		default:
			end()
			if found := item.FindString(line); found != "" {
				list = len(found)
			} else if indented < list {
				list = 0
			}
			p.prose = append(p.prose, text{i + 1, line})
		}
		empty = strings.TrimSpace(line) == ""
	}
	end()
	return p
}

var span = regexp.MustCompile("`([^`]+)`")

// spans returns the texts in the style of code.
func (p page) spans() []text {
	var all []text
	for _, line := range p.prose {
		for _, found := range span.FindAllStringSubmatch(line.content, -1) {
			all = append(all, text{line.line, strings.ReplaceAll(found[1], `\|`, "|")})
		}
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(` + regexp.QuoteMeta(repository) + `[^)\s]+)`)
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
)

// links returns the targets of the links, and addresses of files of this repository.
func (p page) links() []text {
	var all []text
	for _, line := range slices.Concat(p.prose, p.blocks) {
		for _, found := range link.FindAllStringSubmatch(line.content, -1) {
			all = append(all, text{line.line, found[1] + found[2]})
		}
	}
	return all
}

// anchors returns the fragments that lead to the headings of the page, as GitHub makes them.
func (p page) anchors() map[string]bool {
	known := map[string]bool{}
	for _, line := range p.prose {
		found := heading.FindStringSubmatch(line.content)
		if found == nil {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1"))
		for name, n := slug, 1; ; n++ {
			if !known[name] {
				known[name] = true
				break
			}
			name = slug + "-" + string(rune('0'+n))
		}
	}
	return known
}
