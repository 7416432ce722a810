package nodeconfig_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	credentialsFile = "/var/lib/kubelet/config.json"
	pullSecretFile  = "/var/lib/kubelet/hypershift-pull-secret.json"
)

func TestANodeFollowsThePullSecret(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.status = http.StatusForbidden // until a pod of the node names the Secret
	f.must()
	if got := f.read(credentialsFile); got != "" {
		t.Errorf("the node has %q", got)
	}

	for _, secret := range []string{`{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNz"}}}`, `{"auths":{}}`} {
		f.status, f.pullSecret = 0, secret
		f.must()
		if got := f.read(credentialsFile); got != secret {
			t.Errorf("the kubelet reads %q, want %q", got, secret)
		}
	}
	info, err := os.Stat(filepath.Join(f.root, pullSecretFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if f.read("/systemctl") != "" {
		t.Error("the kubelet was restarted for a pull secret")
	}

	f.status = http.StatusForbidden
	f.must()
	if f.read(credentialsFile) == "" {
		t.Error("a node that may not read the pull secret for a moment has lost it")
	}
	f.status = http.StatusNotFound
	f.must()
	if got := f.read(credentialsFile); got != "" {
		t.Errorf("the pull secret is removed, and the node has %q", got)
	}
	f.status = 0
	f.must()
	if got := f.read(credentialsFile); got != f.pullSecret {
		t.Errorf("the kubelet reads %q", got)
	}
}

func TestCredentialsOfTheUserAreKept(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.write(credentialsFile, "written by a MachineConfig")
	f.status, f.pullSecret = 0, `{"auths":{}}`
	f.must()
	if got := f.read(credentialsFile); got != "written by a MachineConfig" {
		t.Errorf("the kubelet reads %q", got)
	}
}

// A Secret without content must not empty the file of the kubelet.
func TestAnEmptyPullSecretIsIgnored(t *testing.T) {
	f := newFollower(t, newSigner(t, "root-ca"))
	f.status, f.pullSecret = 0, `{"auths":{"a":{}}}`
	f.must()
	f.pullSecret = ""
	f.must()
	if got := f.read(credentialsFile); got != `{"auths":{"a":{}}}` {
		t.Errorf("the kubelet reads %q", got)
	}
}

// A kubelet with the flags and without the program does not start.
func TestTheKubeletHasACredentialProviderOnlyIfTheMachineHasOne(t *testing.T) {
	node := read(t, inputs(), machine())
	if !strings.Contains(node.Files["/etc/kubernetes/credential-providers.yaml"], "*.dkr.ecr.*.amazonaws.com\"") {
		t.Errorf("the registries are %s", node.Files["/etc/kubernetes/credential-providers.yaml"])
	}
	_, script, found := strings.Cut(node.Files["/etc/kubernetes/identity.sh"], "if provider=")
	if !found {
		t.Fatal("the script does not search the program")
	}
	for name, installed := range map[string]bool{"with the program": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			bin := filepath.Join(root, "opt/bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			if installed {
				if err := os.WriteFile(filepath.Join(bin, "ecr-credential-provider"), []byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.NewReplacer("/opt/bin", bin, "/run/hypershift/identity", root+"/identity").Replace("if provider=" + script)
			if out, err := exec.CommandContext(t.Context(), "sh", "-euc", text).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got, _ := os.ReadFile(root + "/identity")
			want := ""
			if installed {
				want = "CREDENTIAL_PROVIDERS=--image-credential-provider-config=/etc/kubernetes/credential-providers.yaml --image-credential-provider-bin-dir=" + bin + "\n"
			}
			if string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
