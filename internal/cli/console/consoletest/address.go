package consoletest

import "strings"

// Address is what a console prints when it has started: the address of its first page, with the token.
type Address string

// Page is the address of a page, such as /leftovers?all=true, with the token.
func (a Address) Page(path string) string {
	base, token, _ := strings.Cut(string(a), "/?token=")
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return base + path + separator + "token=" + token
}
