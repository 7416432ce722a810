package logrelay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// relay runs a script. Both outputs are pipes.
type relay struct {
	stdout, stderr *os.File
	// ended gets the result of Run.
	ended chan error
	stop  context.CancelFunc
}

func start(t *testing.T, script string) *relay {
	t.Helper()
	r, err := Parse([]string{"--", "/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	s := &relay{ended: make(chan error, 1)}
	var stdout, stderr *os.File
	for _, p := range []struct{ read, write **os.File }{{&s.stdout, &stdout}, {&s.stderr, &stderr}} {
		if *p.read, *p.write, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*p.read).Close() })
	}
	r.stdout, r.stderr = stdout, stderr
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		err := r.Run(ctx)
		_ = stdout.Close()
		_ = stderr.Close()
		s.ended <- err
	}()
	return s
}

// wait returns the exit code.
func (s *relay) wait(t *testing.T) int {
	t.Helper()
	select {
	case err := <-s.ended:
		var exit *ExitError
		if errors.As(err, &exit) {
			return exit.Code
		}
		if err != nil {
			t.Fatal(err)
		}
		return 0
	case <-time.After(30 * time.Second):
		t.Fatal("the program waits for its log")
		return 0
	}
}

func all(t *testing.T, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBothOutputsReachTheContainer(t *testing.T) {
	s := start(t, "echo event; echo warning >&2; printf 'without a line end' >&2")
	if code := s.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := all(t, s.stdout); got != "event\n" {
		t.Errorf("standard output is %q", got)
	}
	if got := all(t, s.stderr); got != "warning\nwithout a line end" {
		t.Errorf("standard error is %q", got)
	}
}

// The pipe has 64 KiB, and the program writes a megabyte.
func TestUnreadLogDoesNotBlockTheProgram(t *testing.T) {
	const total = 20000
	s := start(t, "i=0; while [ $i -lt "+strconv.Itoa(total)+" ]; do i=$((i+1)); echo \"line $i of a log that nothing reads for a long time\"; done >&2; echo done")
	done := make([]byte, len("done\n"))
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(s.stdout, done)
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil || string(done) != "done\n" {
			t.Fatalf("%q, %v", done, err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the program waits for its log")
	}
	log := all(t, s.stderr)
	s.wait(t)
	if !strings.HasPrefix(log, "line 1 of a log") {
		t.Errorf("the log begins with %.40q", log)
	}
	missing := 0
	for _, found := range regexp.MustCompile(`(?m)^log-relay: (\d+) lines are missing here, because this log was not read$`).FindAllStringSubmatch(log, -1) {
		n, _ := strconv.Atoi(found[1])
		missing += n
	}
	if kept := len(regexp.MustCompile(`(?m)^line \d+ of a log that nothing reads for a long time$`).FindAllString(log, -1)); missing == 0 || kept+missing != total {
		t.Errorf("%d lines are in the log, %d are missing, of %d", kept, missing, total)
	}
}

// After an interruption the log continues, after the lines that waited.
func TestLinesAfterAnInterruptionAreKept(t *testing.T) {
	l := newLines()
	in, out := io.Pipe()
	go l.fill(in)
	line := bytes.Repeat([]byte("x"), 1023)
	for range 2 * limit / 1024 {
		_, _ = out.Write(append(line, '\n'))
	}
	for processed := false; !processed; runtime.Gosched() {
		l.mu.Lock()
		processed = l.dropped == limit/1024
		l.mu.Unlock()
	}
	read, write := io.Pipe()
	go func() {
		l.drain(write)
		_ = write.Close()
	}()
	interrupted := make([]byte, limit)
	if _, err := io.ReadFull(read, interrupted); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(out, "afterwards\n")
		_ = out.Close()
	}()
	if got := all(t, read); got != "log-relay: 256 lines are missing here, because this log was not read\nafterwards\n" {
		t.Errorf("the log continues with %q", got)
	}
}

func TestLongLinesAreNotDropped(t *testing.T) {
	l := newLines()
	text := strings.Repeat("y", 3*maxLine) + "\n"
	l.fill(strings.NewReader(text))
	var log bytes.Buffer
	l.drain(&log)
	if log.String() != text {
		t.Errorf("of %d bytes, %d are in the log", len(text), log.Len())
	}
}

func TestExitCodeIsTheProgramsExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 128 + 9} {
		if got := start(t, script).wait(t); got != want {
			t.Errorf("%s: exit code %d, want %d", script, got, want)
		}
	}
	r := &Relay{Program: []string{filepath.Join(t.TempDir(), "missing")}, stdout: os.Stdout, stderr: os.Stderr}
	if err := r.Run(t.Context()); err == nil || errors.As(err, new(*ExitError)) {
		t.Errorf("a program that does not exist: %v", err)
	}
}

func TestSIGTERMIsPassedOn(t *testing.T) {
	s := start(t, "trap 'echo last >&2; exit 5' TERM; echo ready; while :; do sleep 0.1; done")
	if _, err := io.ReadFull(s.stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if code := s.wait(t); code != 5 {
		t.Errorf("exit code %d", code)
	}
	if got := all(t, s.stderr); got != "last\n" {
		t.Errorf("standard error is %q", got)
	}
}

// The kubelet waits for process 1. A program that is left behind would keep its port in a test environment.
func TestProgramEndsWithTheRelay(t *testing.T) {
	if os.Getenv("RELAY") != "" {
		_ = (&Relay{Program: []string{"/bin/sh", "-c", "echo $$; exec sleep 600"}, stdout: os.Stdout, stderr: os.Stderr}).Run(t.Context())
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProgramEndsWithTheRelay$")
	cmd.Env = append(os.Environ(), "RELAY=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the program runs without the relay")
		}
	}
}

func TestRelayNeedsAProgram(t *testing.T) {
	if _, err := Parse([]string{"--"}); err == nil {
		t.Error("no program is accepted")
	}
}
