package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine runs install.sh with these programs only. Each of them succeeds and logs how it was called.
func machine(t *testing.T, scope string, programs map[string]string) (log []string, output string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	bin, calls := filepath.Join(dir, "bin"), filepath.Join(dir, "calls")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"sort", "cat"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for name, prints := range programs {
		script := "#!" + bash + "\necho " + name + " \"$@\" >>" + calls + "\necho '" + prints + "'\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"etc/ssl/certs/ca-certificates.crt", "usr/share/keyrings/debian-archive-keyring.gpg"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The cache of test results only knows files that the test itself reads.
	install, err := os.ReadFile("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), bash, "-c", string(install), "install.sh", scope)
	command.Env = []string{"PATH=" + bin, "ROOT=" + dir}
	out, err := command.CombinedOutput()
	raw, readErr := os.ReadFile(calls)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n"), string(out), err == nil
}

// complete has every program that install.sh checks.
func complete(root bool) map[string]string {
	programs := map[string]string{"id": "1000"}
	if root {
		programs["id"] = "0"
	}
	for _, name := range []string{"make", "git", "python3", "nft", "iptables", "curl", "ip", "mmdebstrap", "gcc", "pkg-config"} {
		programs[name] = ""
	}
	return programs
}

func TestAMachineWithAllPackagesInstallsNothing(t *testing.T) {
	programs := complete(true)
	programs["apt-get"] = ""
	log, output, ok := machine(t, "lab", programs)
	if !ok || slices.ContainsFunc(log, func(call string) bool { return strings.HasPrefix(call, "apt-get") }) {
		t.Errorf("%v, calls %q, output %s", ok, log, output)
	}
}

func TestRootInstallsOnlyWhatIsMissing(t *testing.T) {
	programs := complete(true)
	programs["apt-get"] = ""
	delete(programs, "nft")
	delete(programs, "pkg-config")
	log, output, ok := machine(t, "lab", programs)
	want := "apt-get install -qy --no-install-recommends libblkid-dev libseccomp-dev nftables pkg-config"
	if !ok || !slices.Contains(log, want) {
		t.Errorf("%v, calls %q, want %q; output %s", ok, log, want, output)
	}
	if !strings.Contains(output, "Installing the missing packages libblkid-dev libseccomp-dev nftables pkg-config") {
		t.Errorf("the packages are not named: %s", output)
	}
}

func TestTheTestsNeedNoPackagesOfTheLab(t *testing.T) {
	programs := complete(false)
	delete(programs, "nft")
	if _, output, ok := machine(t, "test", programs); !ok {
		t.Errorf("failed: %s", output)
	}
}

func TestWithoutRootOrAptTheMissingPackagesAreNamed(t *testing.T) {
	for name, programs := range map[string]map[string]string{"no root": complete(false), "no apt-get": complete(true)} {
		if name == "no root" {
			programs["apt-get"] = ""
		}
		delete(programs, "python3")
		log, output, ok := machine(t, "test", programs)
		if ok || !strings.Contains(output, "    python3 python3-venv\n") {
			t.Errorf("%s: %v, output %s", name, ok, output)
		}
		if slices.ContainsFunc(log, func(call string) bool { return strings.HasPrefix(call, "apt-get") }) {
			t.Errorf("%s: calls %q", name, log)
		}
	}
}
