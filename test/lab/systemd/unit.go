package systemd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unit is the combined content of all files of a unit.
type unit struct {
	name string
	// values has the values by section and key, as "Service.ExecStart", in order.
	values map[string][]string
}

// load reads a unit and its drop-ins. The unit comes from the first directory that has it, drop-ins from all directories.
func load(name string, dirs []string) (*unit, error) {
	u := &unit{name: name, values: map[string][]string{}}
	var files []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			files = append(files, filepath.Join(dir, name))
			break
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("unit %s is nowhere in %s", name, strings.Join(dirs, ", "))
	}
	var dropins []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, name+".d", "*.conf"))
		if err != nil {
			return nil, fmt.Errorf("looking for drop-ins of %s: %w", name, err)
		}
		dropins = append(dropins, found...)
	}
	slices.SortFunc(dropins, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	for _, file := range append(files, dropins...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading unit %s: %w", name, err)
		}
		if err := u.add(string(text)); err != nil {
			return nil, fmt.Errorf("reading unit %s: %s: %w", name, file, err)
		}
	}
	return u, nil
}

// add adds the content of a file. An empty assignment resets the key.
func (u *unit) add(text string) error {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
		default:
			key, value, found := strings.Cut(line, "=")
			if !found {
				return fmt.Errorf("%q is not an assignment", line)
			}
			if err := u.assign(section+"."+strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *unit) assign(key, value string) error {
	if !supported[key] {
		return fmt.Errorf("%s is not supported", key)
	}
	if value == "" {
		delete(u.values, key)
		return nil
	}
	u.values[key] = append(u.values[key], value)
	return nil
}

// last is the last value of a key, or "".
func (u *unit) last(key string) string {
	values := u.values[key]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// words are the words of all values of a key.
func (u *unit) words(key string) []string {
	return strings.Fields(strings.Join(u.values[key], " "))
}
