package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// cpu is how much processor time this process has used.
func cpu() time.Duration { return used(syscall.RUSAGE_SELF) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // there is no failure for oneself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memoryUsage is what this process has of it, in MB.
type memoryUsage struct {
	// RSS and Anonymous are what it has now; the difference is mostly the program itself.
	RSS, Anonymous float64
	// Peak is the most that RSS ever was.
	Peak float64
}

// file says how much is the program itself, of which any process needs some.
func (m memoryUsage) file() string {
	return fmt.Sprintf("of it %s MB are pages of the program, which here has both operators and the fake in it", number(m.RSS-m.Anonymous))
}

func readMemory() (memoryUsage, error) {
	var m memoryUsage
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return m, fmt.Errorf("reading memory: %w", err)
	}
	defer f.Close()
	fields := map[string]*float64{"VmRSS": &m.RSS, "RssAnon": &m.Anonymous, "VmHWM": &m.Peak}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if field := fields[name]; field != nil {
			var kB float64
			if _, err := fmt.Sscanf(value, "%f kB", &kB); err != nil {
				return m, fmt.Errorf("reading %s: %w", name, err)
			}
			*field = kB / 1024
		}
	}
	return m, lines.Err()
}

// load is the load average of the last minute: others make figures of time worse.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}
