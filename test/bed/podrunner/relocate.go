package podrunner

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// relocation turns what a container would see into what its process sees: mount path -> directory, container port -> port of
// loopback.
type relocation struct {
	mounts map[string]string
	ports  map[int32]int
}

// path rewrites every mount path in s, as a whole path or as the beginning of one.
func (r relocation) path(s string) string {
	mounts := make([]string, 0, len(r.mounts))
	for m := range r.mounts {
		mounts = append(mounts, m)
	}
	// The longest first: a mount below another mount hides it.
	slices.SortFunc(mounts, func(a, b string) int { return len(b) - len(a) })

	var out strings.Builder
	for i := 0; i < len(s); {
		if m := mountAt(s, i, mounts); m != "" {
			out.WriteString(r.mounts[m])
			i += len(m)
			continue
		}
		out.WriteByte(s[i])
		i++
	}
	return out.String()
}

func mountAt(s string, i int, mounts []string) string {
	if i > 0 && (inName(s[i-1]) || s[i-1] == '/') {
		return ""
	}
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(s[i:], m); ok && (rest == "" || !inName(rest[0])) {
			return m
		}
	}
	return ""
}

func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// listen is an address to listen on at the end of an argument: an optional host that means "every address", and the port.
var listen = regexp.MustCompile(`^(.*=)?((?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::\])?:)?(\d+)$`)

// value rewrites an argument or the value of an environment variable.
func (r relocation) value(s string) string {
	m := listen.FindStringSubmatch(s)
	if m == nil {
		return r.path(s)
	}
	number, err := strconv.ParseInt(m[3], 10, 32)
	if err != nil {
		return s
	}
	port, declared := r.ports[int32(number)]
	if !declared {
		return s
	}
	host := m[2]
	if host != "" {
		host = "127.0.0.1:"
	}
	return m[1] + host + strconv.Itoa(port)
}
