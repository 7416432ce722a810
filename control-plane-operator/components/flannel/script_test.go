package flannel

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"
)

// The script runs in the shell of this machine, on files that flannel writes.
func TestCNIConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		subnet string
		ranges []any
		routes []any
		mtu    float64
	}{
		"IPv4": {
			subnet: "FLANNEL_NETWORK=10.132.0.0/14\nFLANNEL_SUBNET=10.132.3.1/24\nFLANNEL_MTU=8951\nFLANNEL_IPMASQ=true\n",
			ranges: []any{"10.132.3.0/24"}, routes: []any{"0.0.0.0/0"}, mtu: 8951,
		},
		"a small range": {
			subnet: "FLANNEL_SUBNET=10.132.3.65/26\nFLANNEL_MTU=1450\n",
			ranges: []any{"10.132.3.64/26"}, routes: []any{"0.0.0.0/0"}, mtu: 1450,
		},
		"both families": {
			subnet: "FLANNEL_SUBNET=10.132.3.1/24\nFLANNEL_IPV6_NETWORK=fd01::/48\nFLANNEL_IPV6_SUBNET=fd01:0:0:2::1/64\nFLANNEL_MTU=1430\n",
			ranges: []any{"10.132.3.0/24", "fd01:0:0:2::0/64"}, routes: []any{"0.0.0.0/0", "::/0"}, mtu: 1430,
		},
		"IPv6 with a range in the last group": {
			subnet: "FLANNEL_IPV6_SUBNET=fd01::a01/120\nFLANNEL_MTU=1430\n",
			ranges: []any{"fd01::a00/120"}, routes: []any{"::/0"}, mtu: 1430,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startScript(t)
			s.write(t, c.subnet)
			got := s.await(t)
			bridge := got["plugins"].([]any)[0].(map[string]any)
			ipam := bridge["ipam"].(map[string]any)
			var ranges, routes []any
			for _, r := range ipam["ranges"].([]any) {
				ranges = append(ranges, r.([]any)[0].(map[string]any)["subnet"])
			}
			for _, r := range ipam["routes"].([]any) {
				routes = append(routes, r.(map[string]any)["dst"])
			}
			if !reflect.DeepEqual(ranges, c.ranges) || !reflect.DeepEqual(routes, c.routes) || bridge["mtu"] != c.mtu {
				t.Errorf("the configuration is %v", got)
			}
			files, err := os.ReadDir(filepath.Dir(s.file))
			if err != nil || len(files) != 1 {
				t.Errorf("the directory has %v, %v", files, err)
			}
		})
	}
}

func TestCNIConfigurationIsRestored(t *testing.T) {
	s := startScript(t)
	s.write(t, "FLANNEL_SUBNET=10.132.3.1/24\nFLANNEL_MTU=8951\n")
	s.await(t)
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	s.await(t)
}

func TestCNIConfigurationEndsAtOnce(t *testing.T) {
	s := startScript(t)
	s.write(t, "FLANNEL_SUBNET=10.132.3.1/24\nFLANNEL_MTU=8951\n")
	s.await(t)
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(4 * time.Second):
		t.Error("it still runs")
	}
}

type script struct {
	process      *exec.Cmd
	subnet, file string
}

// startScript runs the script until the end of the test.
func startScript(t *testing.T) *script {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	text, dir := filepath.Join(t.TempDir(), "cni-config.sh"), t.TempDir()
	if err := os.WriteFile(text, []byte(writeCNIConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &script{subnet: filepath.Join(t.TempDir(), "subnet.env"), file: filepath.Join(dir, "10-flannel.conflist")}
	// With a pipe, Wait would also wait for the sleep that the script has started.
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	s.process = exec.CommandContext(t.Context(), shell, text)
	s.process.Env = append(os.Environ(), "SUBNET_FILE="+s.subnet, "CNI_DIRECTORY="+dir)
	s.process.Stdout, s.process.Stderr = out, out
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = s.process.Wait()
		text, err := os.ReadFile(out.Name())
		t.Logf("%s %v", text, errors.Join(err, out.Close()))
	})
	return s
}

// write writes the file of flannel as flannel does: by renaming it.
func (s *script) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.subnet+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.subnet+".new", s.subnet); err != nil {
		t.Fatal(err)
	}
}

// await returns the configuration as soon as there is one.
func (s *script) await(t *testing.T) map[string]any {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(s.file)
		if err != nil {
			continue
		}
		config := map[string]any{}
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return config
	}
	t.Fatal("no configuration was written")
	return nil
}
