package clock

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain prints the time for a test that runs this program as one whose clock is wrong.
func TestMain(m *testing.M) {
	if os.Getenv("PRINT_TIME") == "" {
		os.Exit(m.Run())
	}
	var latest atomic.Int64
	for range runtime.NumCPU() {
		go func() {
			for {
				latest.Store(time.Now().UnixNano())
			}
		}()
	}
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().Unix(), time.Since(began).Seconds())
	}
	os.Exit(0)
}

// program runs a program that answers each line.
type program struct {
	*exec.Cmd
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(name, args...), t: t}
	p.Env = append(os.Environ(), "PRINT_TIME=true")
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait() // it was killed
	})
	return p
}

// answer returns the fields of the next line that the program prints.
func (p *program) answer() []string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in); err != nil {
		p.t.Fatal(err)
	}
	if !p.out.Scan() {
		p.t.Fatalf("it has ended: %v", p.out.Err())
	}
	return strings.Fields(p.out.Text())
}

// isWrongBy fails unless a program sees a clock that is wrong by a duration.
func (p *program) isWrongBy(want time.Duration) {
	p.t.Helper()
	fields := p.answer()
	seen := p.seconds(fields[0])
	if off := seen - time.Now().Unix() - int64(want.Seconds()); off < -10 || off > 10 {
		p.t.Errorf("its clock is wrong by %d s, want %s", seen-time.Now().Unix(), want)
	}
	if len(fields) < 2 {
		return
	}
	if elapsed := p.seconds(fields[1]); elapsed < 0 || elapsed > 60 {
		p.t.Errorf("its monotonic clock says that %d s have passed", elapsed)
	}
}

// seconds parses a number, and ignores its fraction.
func (p *program) seconds(text string) int64 {
	p.t.Helper()
	whole, _, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func TestClockOfAProgram(t *testing.T) {
	for name, command := range map[string][]string{
		"Go, while threads read the clock": {os.Args[0]},
		"time":                             {"bash", "-c", "while read; do echo $EPOCHSECONDS; done"},
		"gettimeofday":                     {"bash", "-c", "while read; do echo $EPOCHREALTIME; done"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, command[0], command[1:]...)
			p.isWrongBy(0)
			for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
				s, err := Start(os.Getpid(), by)
				if err != nil {
					t.Fatal(err)
				}
				for range 20 {
					p.isWrongBy(by)
				}
				if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
				p.isWrongBy(0)
			}
		})
	}
}

// Processes that end or start others all the time are no errors.
func TestClockOfProcessesThatEnd(t *testing.T) {
	start(t, "bash", "-c", "while true; do (exec true) & (exec bash -c :) & wait; done")
	for range 20 {
		s, err := Start(os.Getpid(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * interval)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// The parent of a process that is killed while it is stopped does not wait for its threads for ever.
func TestAProcessIsKilledWhileItIsStopped(t *testing.T) {
	p := start(t, os.Args[0])
	p.answer()
	err := whileStopped(p.Process.Pid, 0, 0, func() error {
		defer time.Sleep(interval)
		return p.Process.Kill()
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Wait() // it was killed
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it is a zombie with threads")
	}
}

// A process that starts later, and one that has replaced itself by another program, have the clock of the machine.
func TestClockOfNewProcesses(t *testing.T) {
	p := start(t, "bash", "-c", `while read; do bash -c 'exec bash -c "sleep 0.5; echo \$EPOCHSECONDS"'; done`)
	s, err := Start(os.Getpid(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p.isWrongBy(time.Hour)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	p.isWrongBy(0)
}
