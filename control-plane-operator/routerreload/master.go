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

// commandTimeout is the timeout of one command.
const commandTimeout = 5 * time.Second

// master is the path of the socket of HAProxy's master process.
type master string

// command sends one command and returns the response.
func (m master) command(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
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
		return "", fmt.Errorf("sending %q to HAProxy: %w", command, err)
	}
	// HAProxy closes the connection after the response.
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	if err != nil {
		return "", fmt.Errorf("reading HAProxy's response to %q: %w", command, err)
	}
	return string(answer), nil
}

// worker is the master's address of the current worker.
const worker = "@1"

// running returns the description in the configuration of the current worker.
func (m master) running(ctx context.Context) (string, error) {
	return m.info(ctx, worker, "description")
}

func (m master) info(ctx context.Context, process, field string) (string, error) {
	answer, err := m.command(ctx, process+" show info")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(answer) {
		if key, value, found := strings.Cut(line, ":"); found && key == field {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("HAProxy does not report its %s", field)
}

// disable makes a frontend refuse new connections. (A frontend that is shut down keeps its socket: clients would connect
// and wait for a response instead of trying another address.) HAProxy returns an empty line for a successful command,
// and an error message for a rejected one.
func (m master) disable(ctx context.Context, frontend string) error {
	answer, err := m.command(ctx, worker+" disable frontend "+frontend)
	if err != nil {
		return err
	}
	if refusal := strings.TrimSpace(answer); refusal != "" {
		return fmt.Errorf("HAProxy rejected disabling frontend %s: %s", frontend, refusal)
	}
	return nil
}

// connections returns the number of connections of all workers, including old ones.
func (m master) connections(ctx context.Context) (int, error) {
	answer, err := m.command(ctx, "show proc")
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

// workers returns the process IDs of the workers in the master's table.
func workers(table string) (pids []string) {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "worker" {
			pids = append(pids, fields[0])
		}
	}
	return pids
}
