package routerreload

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// table is HAProxy 2.6's output after two changes, with a connection of an older worker.
const table = `#<PID>          <type>          <reloads>       <uptime>        <version>
1               master          2 [failed: 0]   0d00h01m02s     2.6.12
# workers
30              worker          0               0d00h00m02s     2.6.12
# old workers
11              worker          2               0d00h01m02s     2.6.12
# programs

`

// play is a master with fixed responses.
func play(t *testing.T, answers map[string]string) master {
	return playWith(t, func(command string) string { return answers[command] })
}

// playWith is a master that gets its responses from a function.
func playWith(t *testing.T, answer func(command string) string) master {
	socket := filepath.Join(t.TempDir(), "master.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			command, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, answer(strings.TrimSpace(command)))
			conn.Close()
		}
	}()
	return master(socket)
}

func TestConnectionsOfOldWorkersCount(t *testing.T) {
	m := play(t, map[string]string{"show proc": table, "@!30 show info": "Name: HAProxy\nCurrConns: 2\n", "@!11 show info": "CurrConns: 3\n"})
	if n, err := m.connections(t.Context()); n != 5 || err != nil {
		t.Errorf("%d connections, %v", n, err)
	}
	if got := workers(table); !slices.Equal(got, []string{"30", "11"}) {
		t.Errorf("workers %v", got)
	}
}

func TestRunningConfigurationIsRead(t *testing.T) {
	m := play(t, map[string]string{"@1 show info": "Uptime_sec: 3\ndescription: c844071a7af02a58\n"})
	if got, err := m.running(t.Context()); got != "c844071a7af02a58" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := play(t, nil).running(t.Context()); err == nil {
		t.Errorf("a master that says nothing runs %q", got)
	}
	if got, err := master(filepath.Join(t.TempDir(), "none")).running(t.Context()); err == nil {
		t.Errorf("nobody runs %q", got)
	}
}

func TestDescription(t *testing.T) {
	for text, want := range map[string]string{
		"global\n    description abc\n    nbthread 2\n": "abc",
		"# description of it\nglobal\n":                 "",
		"":                                              "",
	} {
		if got := description([]byte(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestInvalidArgumentsAreRejected(t *testing.T) {
	for _, args := range [][]string{nil, {"--config=a"}, {"--master=a"}, {"--config=a", "--master=b", "--bogus"}} {
		if _, err := Parse(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
