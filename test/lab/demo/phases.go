package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

// clusters is the state that the phases share.
type clusters struct {
	management client.Client
	// one has single replicas; two is highly available, and starts with the previous release.
	one, two hosted
}

// hosted is a hosted cluster.
type hosted struct {
	client.ObjectKey
	availability hyperv1.AvailabilityPolicy
	version      string
	kubeconfig   string            // once it is available
	variables    map[string]string // of its samples, once they are applied
}

// patience is the timeout of a phase.
const patience = 5 * time.Minute

func (s *show) connect(context.Context) (err error) {
	if s.management, err = client.New(s.hosting.Config, client.Options{Scheme: clustertree.Scheme()}); err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	versions := images.Versions
	s.one = hosted{ObjectKey: client.ObjectKey{Namespace: "clusters", Name: "one"}, availability: hyperv1.SingleReplica, version: versions[0]}
	s.two = hosted{ObjectKey: client.ObjectKey{Namespace: "clusters", Name: "two"}, availability: hyperv1.HighlyAvailable, version: versions[1]}
	return nil
}

// create creates both clusters in parallel, if everything is built. Otherwise it creates the first one only.
func (s *show) create(ctx context.Context) error {
	if s.hosting.Partial {
		return s.createAll(ctx, &s.one)
	}
	return s.createAll(ctx, &s.one, &s.two)
}

// createRest builds the programs that were not built before the first cluster, and creates the second cluster.
func (s *show) createRest(ctx context.Context) error {
	if !s.hosting.Partial {
		return nil
	}
	s.phase("Build what nodes need, and Kubernetes %s. Meanwhile, %q is available to its users.", s.two.version, s.one.Name)
	if err := s.hosting.Complete(ctx); err != nil {
		return err
	}
	s.report("The release of %q gets the images for nodes.", s.one.Name)
	if err := s.changeRelease(ctx, s.one); err != nil {
		return err
	}
	return s.createAll(ctx, &s.two)
}

// createAll creates clusters in parallel.
func (s *show) createAll(ctx context.Context, clusters ...*hosted) error {
	for _, h := range clusters {
		s.phase("Create hosted cluster %q with Kubernetes %s, %s.", h.Name, h.version, h.availability)
		if err := s.apply(ctx, h); err != nil {
			return err
		}
	}
	applied := time.Now()
	for _, h := range clusters {
		if err := s.follow(ctx, "creation", *h, available); err != nil {
			return err
		}
		var err error
		if h.kubeconfig, err = s.hosting.AdminKubeconfig(ctx, h.ObjectKey); err != nil {
			return err
		}
		s.report("✓ %s is available %.1f s after apply", h.Name, time.Since(applied).Seconds())
	}
	return s.kubectl(ctx, s.hosting.Kubeconfig, "get hostedclusters,controlplanecomponents -A", "get pods -A -o wide")
}

func (s *show) apply(ctx context.Context, h *hosted) error {
	customer, err := s.hosting.NewCustomer(ctx, h.Name, h.Name+"-x7k2p", h.version)
	if err != nil {
		return err
	}
	h.variables = customer.Variables
	sample, err := s.hosting.Sample(h.Name, h.availability)
	if err != nil {
		return err
	}
	s.report("kubectl apply -f %s.yaml   # config/samples/hostedcluster-public.yaml", h.Name)
	return s.hosting.Apply(ctx, h.variables, sample)
}

// use runs typical commands of a user.
func (s *show) use(ctx context.Context) error {
	s.phase("Use the API of %q with kubectl.", s.one.Name)
	return s.kubectl(ctx, s.one.kubeconfig,
		"get --raw /readyz?verbose",
		"get namespaces",
		"create deployment hello --image="+s.hosting.Images["busybox"]+" --replicas=2 -- httpd -f -p 8080",
		"create configmap greeting --from-literal=text=hello",
		"get configmap greeting -o jsonpath={.data.text}",
		"get deployments,services -A",
		"auth can-i create clusterroles",
	)
}

// upgrade upgrades the highly available cluster during requests.
func (s *show) upgrade(ctx context.Context) error {
	s.phase("Upgrade %q from %s to %s, during 40 requests per second.", s.two.Name, s.two.version, s.one.version)
	l, err := load.Start(ctx, s.two.kubeconfig)
	if err != nil {
		return err
	}
	defer l.Stop()
	s.two.version = s.one.version
	s.report("kubectl patch hostedcluster %s --type=merge -p '{\"spec\":{\"release\":{\"image\":...}}}'", s.two.Name)
	if err := s.changeRelease(ctx, s.two); err != nil {
		return err
	}
	l.Stop()
	s.report("✓ %v", l.Count())
	return s.kubectl(ctx, s.two.kubeconfig, "version")
}

// changeRelease gives a cluster the release of its version, and waits until it is rolled out.
func (s *show) changeRelease(ctx context.Context, h hosted) error {
	release, err := s.hosting.Release(ctx, h.version)
	if err != nil {
		return err
	}
	h.variables["RELEASE_IMAGE"] = release
	hc := &hyperv1.HostedCluster{}
	if err := s.management.Get(ctx, h.ObjectKey, hc); err != nil {
		return err
	}
	before := hc.DeepCopy()
	hc.Spec.Release.Image = release
	if err := s.management.Patch(ctx, hc, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing the release: %w", err)
	}
	return s.follow(ctx, "upgrade", h, available)
}

// describe prints the trees of both clusters, as hypershift describe does.
func (s *show) describe(ctx context.Context) error {
	for _, h := range []hosted{s.one, s.two} {
		s.phase("Show %q with: hypershift describe cluster %[1]s -n %s", h.Name, h.Namespace)
		objects, err := clustertree.Gather(ctx, s.management, h.ObjectKey)
		if err != nil {
			return err
		}
		if err := clustertree.Write(s, clustertree.Build(objects), clustertree.Options{Now: time.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// end deletes both clusters.
func (s *show) end(ctx context.Context) error {
	s.phase("Delete both clusters.")
	began := time.Now()
	for _, h := range []hosted{s.one, s.two} {
		s.report("kubectl delete hostedcluster %s", h.Name)
		hc := &hyperv1.HostedCluster{}
		hc.Namespace, hc.Name = h.Namespace, h.Name
		if err := s.management.Delete(ctx, hc); err != nil {
			return fmt.Errorf("deleting the HostedCluster: %w", err)
		}
	}
	for _, h := range []hosted{s.one, s.two} {
		if err := s.follow(ctx, "deletion", h, gone); err != nil {
			return err
		}
	}
	s.report("✓ both are deleted after %.1f s", time.Since(began).Seconds())
	return s.kubectl(ctx, s.hosting.Kubeconfig, "get namespaces,persistentvolumes", "get pods -A")
}

// kubectl runs commands as a user, and prints their output.
func (s *show) kubectl(ctx context.Context, kubeconfig string, commands ...string) error {
	for _, c := range commands {
		out, err := s.hosting.Kubectl(ctx, kubeconfig, "", strings.Fields(c)...)
		fmt.Fprintf(s, "\n    $ kubectl %s\n", c)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if most := 24; len(lines) > most {
			lines = append(append(lines[:3:3], fmt.Sprintf("... %d more ...", len(lines)-6)), lines[len(lines)-3:]...)
		}
		for _, line := range lines {
			fmt.Fprintf(s, "    %s\n", line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
