package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestSubcommandsAndTheirRequiredFlags(t *testing.T) {
	for line, understood := range map[string]bool{
		"wait --url=tcp://etcd-client:2379":                                        true,
		"router-reload --config=/etc/haproxy.cfg --master=/run/master.sock":        true,
		"router-drain --master=/run/master.sock":                                   true,
		"router-drain":                                                             false,
		"token-minter --key-file=k --issuer=i --subject=s --token-file=t":          true,
		"etcd-unpack --data=d --restored=r --checksum-file=c --token=t -- etcdutl": true,
		"etcd-unpack --data=d --restored=r --checksum-file=c --token=t":            false,
		"webhook-certificate --dir=d":                                              true,
		"webhook-certificate":                                                      false,
		"wait --install=/run/relay/sidecar":                                        true,
		"log-relay -- kube-apiserver --v=2":                                        true,
		"image-registry-gateway --certificate=c --registry=http://127.0.0.1:5000":  true,
		"image-registry-gateway --certificate=c":                                   false,
		"image-registry-garbage-collection -- registry garbage-collect":            true,
		"image-registry-garbage-collection":                                        false,
		"log-relay":                                                                false,
		"wait":                                                                     false,
		"etcd-member --name=etcd-0":                                                false,
		"":                                                                         false,
	} {
		if _, err := parse(strings.Fields(line)); (err == nil) != understood {
			t.Errorf("sidecar %s: %v", line, err)
		}
	}
}

// The profiles of a pod are not for the network.
func TestProfilesNeedAnAddressOfLoopback(t *testing.T) {
	err := run(t.Context(), []string{"--profiling=0.0.0.0:6060", "wait", "--url=tcp://127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("all addresses: %v", err)
	}
}

func TestVersionNeedsNoSubcommand(t *testing.T) {
	if err := run(t.Context(), []string{"--version"}); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), nil); err == nil {
		t.Error("no subcommand is accepted")
	}
}

// A Kubernetes or AWS library would make the sidecar as large as the component it serves.
func TestSidecarImportsNoKubernetesLibrary(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, large := range []string{"k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "go.uber.org/zap", "google.golang.org/", "github.com/aws/"} {
		if strings.Contains(string(out), "\n"+large) {
			t.Errorf("it imports %s", large)
		}
	}
}
