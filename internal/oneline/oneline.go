// Package oneline makes one line of the texts of users and of their programs, for conditions and for terminals.
package oneline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Of returns a text without line breaks and without control characters, such as escape sequences of terminals. Bytes that are not UTF-8
// become the replacement character.
func Of(text string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// List returns the first items in alphabetical order, and how many more there are: "a, b and 3 more". It sorts them.
func List(items []string, most int) string {
	slices.Sort(items)
	if more := len(items) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), more)
	}
	return strings.Join(items, ", ")
}
