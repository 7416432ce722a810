package integration

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// maxObjectWrites is how often the operators may write objects, apart from statuses, for a control plane without running
	// pods: each object once, and a few again for a finalizer or for facts that become known later.
	maxObjectWrites = 50
	// maxStatusWrites is a little more than the operators need. The number depends on how fast the machine is: changes in
	// the same moment are written together, and a status that no program waits for is written every two seconds.
	maxStatusWrites = 26
	// quiet is how long the operators must not have written before the writes are counted. It is longer than resync and
	// than a status waits.
	quiet = 5 * time.Second
)

// Every write is work for the API server of the management cluster, which all hosted clusters share.
func TestStartNeedsFewWrites(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	eventually(t.Context(), t, "the control plane is published and complete, except for its pods", func() error {
		return errors.Join(c.published(names.Router), c.readyInfrastructure(), c.exist(
			&appsv1.StatefulSet{}, names.Etcd,
			&appsv1.Deployment{}, names.KubeAPIServer, names.KubeControllerManager,
			&corev1.Secret{}, names.AdminKubeconfig,
		), c.reported(names.Etcd, names.KubeAPIServer, names.KubeControllerManager))
	})
	var found []write
	eventually(t.Context(), t, "the operators do not write any more", func() (err error) {
		if found, err = c.writes(); err != nil {
			return err
		}
		if last := found[len(found)-1]; time.Since(last.at) < quiet {
			return fmt.Errorf("%s was written %s ago", last.what, time.Since(last.at))
		}
		return nil
	})
	var statuses []write
	for _, w := range found {
		if w.status {
			statuses = append(statuses, w)
		}
	}
	objects := len(found) - len(statuses)
	for _, w := range found {
		t.Logf("%6.2f s  %s %s", w.at.Sub(found[0].at).Seconds(), w.verb, w.what)
	}
	t.Logf("%d writes of objects and %d of statuses", objects, len(statuses))
	if objects > maxObjectWrites || len(statuses) > maxStatusWrites {
		t.Errorf("the operators have made %d writes of objects and %d of statuses, more than %d and %d:\n%s",
			objects, len(statuses), maxObjectWrites, maxStatusWrites, summary(found))
	}
}

// readyInfrastructure returns an error unless the HostedCluster reports that its infrastructure is ready.
func (c *cluster) readyInfrastructure() error {
	hc := &hyperv1.HostedCluster{}
	if err := kube.Get(c.t.Context(), client.ObjectKeyFromObject(c.hc), hc); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.InfrastructureReady) {
		return errors.New("the infrastructure is not ready")
	}
	return nil
}

// reported returns an error unless these components have a status.
func (c *cluster) reported(components ...string) error {
	var errs []error
	for _, name := range components {
		component := &hyperv1.ControlPlaneComponent{}
		if err := kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: name}, component); err != nil {
			errs = append(errs, err)
		} else if len(component.Status.Conditions) == 0 {
			errs = append(errs, fmt.Errorf("component %s has no status", name))
		}
	}
	return errors.Join(errs...)
}

// exist returns an error unless the control plane has these objects: each kind is followed by names.
func (c *cluster) exist(kindsAndNames ...any) error {
	var kind client.Object
	var errs []error
	for _, each := range kindsAndNames {
		switch v := each.(type) {
		case client.Object:
			kind = v
		case string:
			errs = append(errs, kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: v}, kind.DeepCopyObject().(client.Object)))
		}
	}
	return errors.Join(errs...)
}

// write is a request of an operator that changed an object, or was to change it.
type write struct {
	at         time.Time
	what, verb string
	status     bool
}

// writes returns the writes of the operators for this cluster so far, except writes of Leases: their number depends on the time.
func (c *cluster) writes() ([]write, error) {
	file, err := os.Open(on.AuditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []write
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found, nil // a partial line is not written completely yet
		}
		if err != nil {
			return nil, err
		}
		var e struct {
			Verb                     string
			ImpersonatedUser         struct{ Username string }
			ObjectRef                struct{ Resource, Subresource, Namespace, Name string }
			RequestReceivedTimestamp time.Time
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		o := e.ObjectRef
		changes := slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
		_, account, _ := strings.Cut(strings.TrimPrefix(e.ImpersonatedUser.Username, "system:serviceaccount:"), ":")
		ours := account == names.HypershiftOperator || account == names.ControlPlaneOperator
		if changes && ours && o.Resource != "leases" && strings.Contains(o.Namespace+"/"+o.Name, c.hc.Namespace) {
			what := strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/") + " " + o.Name
			found = append(found, write{e.RequestReceivedTimestamp, what, e.Verb, o.Subresource == "status"})
		}
	}
}

// summary counts the writes of each object, the highest number first.
func summary(all []write) string {
	count := map[string]int{}
	for _, w := range all {
		count[w.verb+" "+w.what]++
	}
	objects := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, o := range objects {
		objects[i] = fmt.Sprintf("%4d %s", count[o], o)
	}
	return strings.Join(objects, "\n")
}
