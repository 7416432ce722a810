package routerreload

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// patience is how long one answer of the master may take.
const patience = 5 * time.Second

// master is the master process of HAProxy, by its socket.
type master string

// say gives one command and returns the answer.
func (m master) say(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", string(m))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := fmt.Fprintln(conn, command); err != nil {
		return "", fmt.Errorf("saying %q to HAProxy: %w", command, err)
	}
	// It answers, and hangs up when nothing more can come.
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	if err != nil {
		return "", fmt.Errorf("hearing what HAProxy says to %q: %w", command, err)
	}
	return string(answer), nil
}

// worker is how the master addresses the worker of today.
const worker = "@1"

// running is the description in the configuration that new connections meet.
func (m master) running(ctx context.Context) (string, error) {
	return m.info(ctx, worker, "description")
}

func (m master) info(ctx context.Context, process, field string) (string, error) {
	answer, err := m.say(ctx, process+" show info")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(answer) {
		if key, value, found := strings.Cut(line, ":"); found && key == field {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("HAProxy does not say its %s", field)
}

// disable makes a frontend refuse new connections. (A frontend that is shut down keeps its socket, so that clients connect and wait
// for an answer instead of trying elsewhere.) HAProxy answers an empty line to a command that it obeys, and a sentence to one that
// it refuses.
func (m master) disable(ctx context.Context, frontend string) error {
	answer, err := m.say(ctx, worker+" disable frontend "+frontend)
	if err != nil {
		return err
	}
	if refusal := strings.TrimSpace(answer); refusal != "" {
		return fmt.Errorf("HAProxy does not disable frontend %s: %s", frontend, refusal)
	}
	return nil
}

// connections are those of all workers, old ones too.
func (m master) connections(ctx context.Context) (int, error) {
	answer, err := m.say(ctx, "show proc")
	if err != nil {
		return 0, err
	}
	total := 0
	for _, pid := range workers(answer) {
		text, err := m.info(ctx, "@!"+pid, "CurrConns")
		if err != nil {
			continue // it has ended in between
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("reading the number of connections: %w", err)
		}
		total += n
	}
	return total, nil
}

// workers are the process ids in the table of the master.
func workers(table string) (pids []string) {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "worker" {
			pids = append(pids, fields[0])
		}
	}
	return pids
}
