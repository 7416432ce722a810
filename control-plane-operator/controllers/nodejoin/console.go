package nodejoin

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A console is written by programs of the machine image, by the user data, and by every root process on the instance. All of
// it is untrusted: it selects one of the reasons of this machine, and a bounded, printable part of it is quoted.

// A report is a machine's own report on its console: the last line of the format
//
//	hypershift-node: reason=<CamelCase> message=<text>
type report struct{ reason, message string }

const (
	maxReported = 300 // characters of a reported message
	maxLine     = 160 // characters of a quoted line
	maxLines    = 3   // quoted lines
)

type patternSet struct {
	reported, escapes, digest *regexp.Regexp
	secrets                   []*regexp.Regexp
}

// patterns are compiled when the first console is read. There is one control-plane-operator for each cluster, and most never
// read one.
var patterns = sync.OnceValue(func() (p patternSet) {
	p.reported = regexp.MustCompile(`hypershift-node: reason=([A-Z][A-Za-z0-9]{1,63})(?: message=(.*))?$`)
	// Control sequences of terminals: colors, cursor, titles.
	p.escapes = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)
	p.digest = regexp.MustCompile(`^(?:sha256)?[0-9a-f]{64}$`)
	// Bootstrap tokens, values with telling names, access keys, and long encoded values such as keys and JWTs.
	for _, secret := range []string{
		`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`,
		`(?i)\b(?:bearer|basic)\s+\S+`,
		`(?i)(?:password|passwd|secret|token|authorization|credential)[a-z_-]*["']?\s*[=:]\s*\S+`,
		`://[^/\s:@]*:[^/\s@]+@`,
		`\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b`,
		`[A-Za-z0-9+/_=-]{40,}`,
	} {
		p.secrets = append(p.secrets, regexp.MustCompile(secret))
	}
	return p
})

const redacted = "[redacted]"

// reasons maps the reasons that a machine may report to condition reasons.
var reasons = map[string]string{
	"RegistryUnreachable":   hyperv1.NodePoolNodeProgramsUnavailableReason,
	"RegistryUnauthorized":  hyperv1.NodePoolNodeProgramsUnavailableReason,
	"RegistryError":         hyperv1.NodePoolNodeProgramsUnavailableReason,
	"Unauthorized":          hyperv1.NodePoolNodeProgramsUnavailableReason,
	"NotFound":              hyperv1.NodePoolNodeProgramsUnavailableReason,
	"WrongDigest":           hyperv1.NodePoolNodeProgramsUnavailableReason,
	"DigestMismatch":        hyperv1.NodePoolNodeProgramsUnavailableReason,
	"DiskFull":              hyperv1.NodePoolNodeProgramsUnavailableReason,
	"UnpackFailed":          hyperv1.NodePoolNodeProgramsUnavailableReason,
	"ProgramsUnavailable":   hyperv1.NodePoolNodeProgramsUnavailableReason,
	"APIServerUnreachable":  hyperv1.NodePoolAPIServerUnreachableReason,
	"APIServerNameUnknown":  hyperv1.NodePoolAPIServerUnreachableReason,
	"APIServerNotTrusted":   hyperv1.NodePoolAPIServerUnreachableReason,
	"BootstrapTokenRefused": hyperv1.NodePoolNodeRefusedReason,
}

// parseConsole returns the last report on a console, or nil, and its last lines.
func parseConsole(console []byte) (last *report, lines []string) {
	text := patterns().escapes.ReplaceAllString(strings.ToValidUTF8(string(console), ""), "")
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = printable(line); line == "" {
			continue
		}
		if found := patterns().reported.FindStringSubmatch(line); found != nil {
			last = &report{reason: found[1], message: cut(redact(found[2]), maxReported)}
		}
		if lines = append(lines, line); len(lines) > maxLines {
			lines = lines[1:]
		}
	}
	for i := range lines {
		lines[i] = cut(redact(lines[i]), maxLine)
	}
	return last, lines
}

// printable returns a line without characters that cannot be seen, that change the direction of text, or that separate the
// parts of a condition.
func printable(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == ';':
			return ','
		case r == '"':
			return '\''
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, line)
	return strings.TrimSpace(line)
}

// redact removes possible secrets.
func redact(line string) string {
	for _, secret := range patterns().secrets {
		line = secret.ReplaceAllStringFunc(line, func(found string) string {
			if patterns().digest.MatchString(found) {
				return found // of an image or a program
			}
			return redacted
		})
	}
	return line
}

func cut(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}
