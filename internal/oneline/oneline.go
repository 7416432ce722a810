// Package oneline makes one line of the texts of users and of their programs, for conditions and for terminals.
package oneline

import (
	"strings"
	"unicode"
)

// Of returns a text without line breaks and without control characters, such as escape sequences of terminals. Bytes that are not UTF-8
// become the replacement character.
func Of(text string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
