package cis

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

var update = flag.Bool("update", false, "write docs/cis.md")

func samples(t *testing.T) map[string][]Sample {
	t.Helper()
	all, err := Samples(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// problems returns the violations of the evaluated samples, and of the others.
func (r Recommendation) problems(all []Sample) (evaluated, others []string) {
	for _, s := range all {
		problem := r.Check(s)
		if problem != "" {
			problem = s.Name + ": " + problem
		}
		if len(r.Samples) == 0 || slices.Contains(r.Samples, s.Name) {
			evaluated = append(evaluated, problem)
		} else {
			others = append(others, problem)
		}
	}
	return evaluated, others
}

func TestRecommendationsAreMetOrHaveAReason(t *testing.T) {
	all := samples(t)
	for _, r := range table {
		t.Run(r.ID, func(t *testing.T) {
			if r.Reason == "" && r.Result != Met {
				t.Error("there is no reason")
			}
			if r.Check == nil {
				if r.Result == Met || r.Result == Optional {
					t.Error("there is no check")
				}
				return
			}
			evaluated, others := r.problems(all[r.Component])
			if len(evaluated) < max(1, len(r.Samples)) {
				t.Fatalf("%d samples of %q are evaluated", len(evaluated), r.Component)
			}
			failed := slices.DeleteFunc(evaluated, func(problem string) bool { return problem == "" })
			switch r.Result {
			case Met, NotApplicable:
				for _, problem := range failed {
					t.Errorf("%s: %s", r.What, problem)
				}
			case Optional:
				for _, problem := range failed {
					t.Errorf("%s: %s", r.What, problem)
				}
				if slices.Contains(others, "") {
					t.Error("it is met without the setting, too")
				}
			case Differs:
				if len(failed) == 0 {
					t.Error("it is met: there is no difference any more")
				}
			default:
				t.Errorf("the result is %q", r.Result)
			}
		})
	}
}

func TestEveryRecommendationIsInTheTable(t *testing.T) {
	var want, got []string
	for _, section := range sections {
		for n := range section.Count {
			want = append(want, fmt.Sprintf("%s.%d", section.ID, n+1))
		}
	}
	for _, r := range table {
		got = append(got, r.ids()...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-benchmark +table:\n%s", diff)
	}
}

// TestChecksFail uses an empty sample, and a sample with the opposite of each recommendation.
func TestChecksFail(t *testing.T) {
	opposite := Sample{
		Flags: map[string][]string{
			"--token-auth-file": {"tokens.csv"}, authorizer: {"AlwaysAllow"}, admission: {"AlwaysAdmit"}, disabled: {"ServiceAccount,NamespaceLifecycle"},
			"--profiling": {"true"}, "--audit-log-path": {""}, "--request-timeout": {"0s"}, "--service-account-lookup": {"false"},
			"--tls-cipher-suites": {"TLS_RSA_WITH_AES_128_CBC_SHA"}, "--use-service-account-credentials": {"false"}, gates: {"RotateKubeletServerCertificate=false"},
			"--auto-tls": {"true"}, "--peer-auto-tls": {"true"}, "--kubeconfig": {"kubeconfig"}, "--read-only-port": {"10255"}, "--streaming-connection-idle-timeout": {"0"},
			"--make-iptables-util-chains": {"false"}, "--hostname-override": {"other"}, "--event-qps": {"-1"}, "--tls-cert-file": {""}, "--metrics-bind-address": {"0.0.0.0"},
		},
		Audit: auditPolicy{Rules: []auditRule{{Level: "RequestResponse"}}},
		Files: map[string]nodeFile{},
	}
	for _, path := range []string{kubeletConfig, kubeletUnit, bootstrapFile, clientCAFile} {
		opposite.Files[path] = nodeFile{Permissions: "0666", Owner: "nobody:nobody"}
	}
	opposite.Pod.HostNetwork = true
	for _, r := range table {
		if r.Check != nil && r.Check(opposite) == "" {
			t.Errorf("%s: %s: the check passes with the opposite", r.ID, r.What)
		}
	}
}

func TestThePageIsUpToDate(t *testing.T) {
	path := filepath.Join(root, "docs", "cis.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Page(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("go test ./test/cis -args -update writes it anew (-want +got):\n%s", diff)
	}
}
