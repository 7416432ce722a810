package systemd

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// split splits a command line into words, with quotes.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && c == ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is left open in %q", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces environment variables.
func expand(words []string, env map[string]string) []string {
	var out []string
	for _, w := range words {
		out = append(out, variable.ReplaceAllStringFunc(w, func(v string) string { return env[v[2:len(v)-1]] }))
	}
	return out
}

// readEnvironment reads a file with an assignment in each line. If its name begins with -, it may be missing.
func readEnvironment(file string, env map[string]string) error {
	file, optional := strings.CutPrefix(file, "-")
	text, err := os.ReadFile(file)
	if optional && os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		env[key] = unquote(value)
	}
	return nil
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

func unquote(value string) string {
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return unescape.Replace(value[1 : len(value)-1])
	}
	return value
}
