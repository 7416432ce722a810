package nodejoin

import (
	"strings"
	"testing"
)

func TestParseConsole(t *testing.T) {
	for name, tc := range map[string]struct {
		console string
		report  *report
		lines   []string
	}{
		"an empty console": {},
		"blank lines only": {console: "\r\n \r\n\x00\n"},
		"the last lines": {
			console: "[    0.000000] Linux version 6.1\r\none\r\ntwo\r\n\r\nthree\r\n",
			lines:   []string{"one", "two", "three"},
		},
		"a report": {
			console: "boot\nhypershift-node: reason=RegistryUnreachable message=no route to registry.example.com\n",
			report:  &report{"RegistryUnreachable", "no route to registry.example.com"},
			lines:   []string{"boot", "hypershift-node: reason=RegistryUnreachable message=no route to registry.example.com"},
		},
		"a report behind the time of the kernel and in color": {
			console: "[   12.345678] \x1b[0;31mhypershift-node: reason=DiskFull message=/var is full\x1b[0m\r\n",
			report:  &report{"DiskFull", "/var is full"},
			lines:   []string{"[   12.345678] hypershift-node: reason=DiskFull message=/var is full"},
		},
		"the last report counts": {
			console: "hypershift-node: reason=DiskFull message=a\nhypershift-node: reason=WrongDigest\nlogin:",
			report:  &report{"WrongDigest", ""},
			lines:   []string{"hypershift-node: reason=DiskFull message=a", "hypershift-node: reason=WrongDigest", "login:"},
		},
		"a reason of another form is none": {
			console: "hypershift-node: reason=disk full message=a\nhypershift-node: reason=" + strings.Repeat("A", 65) + " message=b",
			lines:   []string{"hypershift-node: reason=disk full message=a", "hypershift-node: [redacted] message=b"},
		},
		"control sequences of terminals": {
			console: "\x1b]0;title\x07\x1b[2J\x1b[1;1Hlogin\x1b(B: \u202egnp.exe\u200b\x08",
			lines:   []string{"login(B: gnp.exe"},
		},
		"characters that separate the parts of a condition": {
			console: `it"; 1 of 2 (other): NodeRefused`,
			lines:   []string{"it', 1 of 2 (other): NodeRefused"},
		},
		"bytes that are no text": {console: "\xff\xfeok\xc3(\n", lines: []string{"ok("}},
		"secrets": {
			console: "token abcdef.0123456789abcdef\nAuthorization: Bearer eyJhbGciOi\nPASSWORD=hunter2 next http://user:pw@proxy:3128/",
			lines:   []string{"token [redacted]", "[redacted]", "[redacted] next http[redacted]proxy:3128/"},
		},
		"keys": {
			console: "AKIAIOSFODNN7EXAMPLE\n" + strings.Repeat("Ab1+", 20) + "\nsha256:" + strings.Repeat("0a", 32),
			lines:   []string{"[redacted]", "[redacted]", "sha256:" + strings.Repeat("0a", 32)},
		},
		"a secret in a report": {
			console: "hypershift-node: reason=RegistryError message=token=abc",
			report:  &report{"RegistryError", "[redacted]"},
			lines:   []string{"hypershift-node: reason=RegistryError message=[redacted]"},
		},
		"a long line": {console: strings.Repeat("x ", 200), lines: []string{strings.Repeat("x ", maxLine/2) + "..."}},
	} {
		t.Run(name, func(t *testing.T) {
			said, lines := parseConsole([]byte(tc.console))
			if (said == nil) != (tc.report == nil) || said != nil && *said != *tc.report {
				t.Errorf("report %+v, want %+v", said, tc.report)
			}
			if got, want := strings.Join(lines, "\n"), strings.Join(tc.lines, "\n"); got != want {
				t.Errorf("lines:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func FuzzParseConsole(f *testing.F) {
	f.Add([]byte("hypershift-node: reason=DiskFull message=a\x1b[31m"))
	f.Add([]byte("\x1b]\x1b[\xff;\"\r\n"))
	f.Fuzz(func(t *testing.T, console []byte) {
		said, lines := parseConsole(console)
		if said != nil {
			lines = append(lines, said.reason+" "+said.message)
		}
		for _, line := range lines {
			if strings.ContainsAny(line, ";\"\x1b\r\n\x00") || len([]rune(line)) > 64+maxReported+4 {
				t.Errorf("quotes %q", line)
			}
		}
	})
}
