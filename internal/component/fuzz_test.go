package component

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// What a program logs at its end becomes a part of a condition: one line of a limited length.
func FuzzEnded(f *testing.F) {
	for _, log := range []string{
		`{"level":"fatal","msg":"discovery failed","error":"wal: crc mismatch"}`, "E0101 10:00:00.000001       1 run.go:74] \"command failed\" err=\"a\"", "a\nb\n\n", `{"msg":"a\nb\u0000"}`, strings.Repeat("ä", 1000), "\xff\xfe", "a\rb",
		"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had taint. preemption: 0/3", "Back-off pulling image \"a\": ErrImagePull: denied", "\x1b[31mred\x1b[0m",
	} {
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log string) {
		for name, text := range map[string]string{"end": ended(&corev1.ContainerStateTerminated{ExitCode: 1, Message: log}), "pull": suffixed(pullError(log)), "scheduling": unschedulable(log)} {
			if utf8.RuneCountInString(text) > longest+64 {
				t.Errorf("%s: %d characters", name, utf8.RuneCountInString(text))
			}
			if strings.ContainsAny(text, "\n\r\x00\x1b") {
				t.Errorf("%s: %q", name, text)
			}
		}
	})
}
