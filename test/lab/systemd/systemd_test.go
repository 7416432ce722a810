package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// boot starts a machine with these files. ${DIR} in them is their directory.
func boot(t *testing.T, files map[string]string) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "${DIR}", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	m, err := Start(ctx, Options{
		Units: []string{filepath.Join(dir, "etc"), filepath.Join(dir, "usr")}, Presets: []string{filepath.Join(dir, "etc")},
		Logs: dir, Run: dir, Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		cancel()
		if m != nil {
			m.Wait()
		}
		endProcesses(t, dir)
	})
	return dir, err
}

// endProcesses ends the processes that have files of dir open, such as the log of their service. The manager ends the main
// process of a service; its children may still run and write while the directory is removed.
func endProcesses(t *testing.T, dir string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		files, err := filepath.Glob("/proc/[0-9]*/fd/*")
		if err != nil {
			t.Error(err)
			return
		}
		pids := map[int]bool{}
		for _, file := range files {
			// A process that has ended has no files.
			target, _ := os.Readlink(file)
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			if err == nil && pid != os.Getpid() && strings.HasPrefix(target, dir+"/") {
				pids[pid] = true
			}
		}
		if len(pids) == 0 {
			return
		}
		for pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
		if time.Now().After(until) {
			t.Errorf("processes %v do not end", slices.Sorted(maps.Keys(pids)))
			return
		}
	}
}

func mustBoot(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := boot(t, files)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fileContains waits until a file has a content.
func fileContains(t *testing.T, file, want string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		text, err := os.ReadFile(file)
		if err == nil && string(text) == want {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s contains %q (%v), want %q", file, text, err, want)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestDropInChangesAService(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":       "enable kubelet.service\n",
		"usr/kubelet.service": "# of the image\n[Service]\nExecStart=/bin/false\n",
		"etc/kubelet.service.d/90-us.conf": "[Unit]\nAfter=network-online.target\n[Service]\nEnvironment=WHO=me\nEnvironmentFile=-${DIR}/missing\nEnvironmentFile=-${DIR}/learned\n" +
			"ExecStartPre=/bin/sh -c 'echo NODE_NAME=\"n 1\" >${DIR}/learned'\nExecStart=\nExecStart=/bin/sh -c \"echo $WHO ${NODE_NAME} >${DIR}/said; sleep 100\"\n",
	})
	fileContains(t, filepath.Join(dir, "said"), "me n 1\n")
}

func TestServiceIsRestarted(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset": "enable a.service\n",
		"usr/a.service": "[Service]\nRestart=always\nRestartSec=10ms\nExecStart=/bin/sh -c 'echo >>${DIR}/starts; test $(wc -l <${DIR}/starts) = 3 && exec sleep 100'\n",
	})
	fileContains(t, filepath.Join(dir, "starts"), "\n\n\n")
}

func TestTimerStartsAServiceOfAnotherName(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":      "enable often.timer\n",
		"etc/often.timer":    "[Timer]\nUnit=follow.service\nOnActiveSec=0\nOnUnitActiveSec=10ms\n[Install]\nWantedBy=timers.target\n",
		"etc/follow.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'test -e ${DIR}/started || echo yes >${DIR}/started'\n",
	})
	fileContains(t, filepath.Join(dir, "started"), "yes\n")
}

func TestServiceWaitsForAnother(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":     "enable late.service\nenable early.service\n",
		"usr/early.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'echo early >>${DIR}/order'\n",
		"usr/late.service":  "[Unit]\nAfter=early.service\n[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo late >>${DIR}/order'\n",
	})
	fileContains(t, filepath.Join(dir, "order"), "early\nlate\n")
}

func TestPathStartsAService(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":      "enable joined.path\n",
		"etc/joined.path":    "[Path]\nPathExists=${DIR}/kubeconfig\n[Install]\nWantedBy=multi-user.target\n",
		"etc/joined.service": "[Service]\nType=oneshot\nExecStart=/bin/mkdir -p ${DIR}/run\nExecStart=/bin/sh -c 'echo yes >${DIR}/run/joined'\n",
	})
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fileContains(t, filepath.Join(dir, "run", "joined"), "yes\n")
}

// Users change the interval of a timer by a drop-in.
func TestTimerStartsAServicePeriodically(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":              "enable follow.timer\n",
		"etc/follow.timer":           "[Timer]\nOnActiveSec=1min\nOnUnitActiveSec=5min\nRandomizedDelaySec=1min\n[Install]\nWantedBy=timers.target\n",
		"etc/follow.timer.d/50.conf": "[Timer]\nOnActiveSec=\nOnActiveSec=0\nOnUnitActiveSec=10ms\nRandomizedDelaySec=0\n",
		"etc/follow.service":         "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'test -e ${DIR}/third || echo >>${DIR}/starts; test $(wc -l <${DIR}/starts) != 3 || touch ${DIR}/third'\n",
	})
	fileContains(t, filepath.Join(dir, "starts"), "\n\n\n")
}

func TestServiceWritesItsPIDFile(t *testing.T) {
	dir := mustBoot(t, map[string]string{
		"etc/20.preset": "enable a.service\n",
		"usr/a.service": "[Service]\nExecStart=/bin/sh -c 'echo $$ >${DIR}/self; exec sleep 100'\n",
	})
	for until := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		self, _ := os.ReadFile(filepath.Join(dir, "self"))
		found, _ := os.ReadFile(filepath.Join(dir, "a.service.pid"))
		if len(self) > 0 && strings.TrimSpace(string(self)) == string(found) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the pid is %q, but systemctl finds %q", self, found)
		}
	}
}

func TestSocketPassesConnectionsToItsService(t *testing.T) {
	const proxy = "/usr/lib/systemd/systemd-socket-proxyd"
	if _, err := os.Stat(proxy); err != nil {
		t.Skip("this host has no systemd")
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := mustBoot(t, map[string]string{
		"etc/20.preset":   "enable api.socket\n",
		"etc/api.socket":  fmt.Sprintf("[Socket]\nExecStartPre=/usr/bin/env true\nListenStream=127.0.0.1:%d\n", port),
		"etc/api.service": "[Unit]\nWants=network-online.target\n[Service]\nExecStart=" + proxy + " " + server.Addr().String() + "\n",
	})
	for range 2 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(c)
		c.Close()
		if err != nil || string(said) != "hello" {
			log, _ := os.ReadFile(filepath.Join(dir, "api.service.log"))
			t.Errorf("the response is %q, %v\n%s", said, err, log)
		}
	}
}

func TestUnsupportedDirectiveIsAnError(t *testing.T) {
	for sentence, files := range map[string]map[string]string{
		"Service.Slice is not supported": {"usr/a.service": "[Service]\nSlice=b.slice\n"},
		"nowhere":                        {},
		"is not an assignment":           {"usr/a.service": "[Service]\nExecStart\n"},
	} {
		files["etc/20.preset"] = "enable a.service\n"
		if _, err := boot(t, files); err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestSplitCommandLine(t *testing.T) {
	for line, want := range map[string][]string{
		"/bin/a -b":            {"/bin/a", "-b"},
		`a "b  c" 'd "e"' f""`: {"a", "b  c", `d "e"`, "f"},
		` a  ''`:               {"a", ""},
	} {
		if got, err := split(line); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	if _, err := split(`a "b`); err == nil {
		t.Error("an open quote is accepted")
	}
}
