package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// cpu is the CPU time of this process.
func cpu() time.Duration { return used(syscall.RUSAGE_SELF) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // getrusage of the own process does not fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memoryUsage is the memory of this process, in MB.
type memoryUsage struct {
	// RSS and Anonymous are current values. The difference is mainly the program file.
	RSS, Anonymous float64
	// Peak is the maximum of RSS.
	Peak float64
}

// file describes the share of the program file.
func (m memoryUsage) file() string {
	return fmt.Sprintf("of it %s MB are pages of the program, which here has both operators and the fake in it", report.Number(m.RSS-m.Anonymous))
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

// loadAverage is the load average of the last minute: other processes distort measured times.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}
