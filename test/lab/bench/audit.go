package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// audited is a write in the audit log of the lab.
type audited struct {
	Verb                     string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Subresource string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
}

// tally counts the writes of the operators to the management cluster. Lease renewals are not counted, because their number
// depends on the time of observation.
type tally struct {
	total, refused, leases int
	byKind                 map[string]int
}

// writes counts the writes since then for these clusters.
func (b *labBench) writes(all []client.ObjectKey, since time.Time) (tally, error) {
	const account = "system:serviceaccount:"
	ours := map[string]bool{account + hosting.Namespace + ":" + names.HypershiftOperator: true}
	for _, hc := range all {
		ours[account+controlPlane(hc)+":"+names.ControlPlaneOperator] = true
	}
	t := tally{byKind: map[string]int{}}
	file, err := os.Open(filepath.Join(b.Dir, "logs", lab.AuditLog))
	if err != nil {
		return t, fmt.Errorf("counting writes: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return t, nil // a partial line is not written completely yet
		}
		var w audited
		if err := json.Unmarshal(line, &w); err != nil {
			return t, fmt.Errorf("reading %s: %w", file.Name(), err)
		}
		if ours[w.User.Username] && !w.RequestReceivedTimestamp.Before(since) {
			t.add(w)
		}
	}
}

func (t *tally) add(w audited) {
	if w.ObjectRef.Resource == "leases" {
		t.leases++
		return
	}
	t.total++
	if w.ResponseStatus.Code >= 300 {
		t.refused++
	}
	t.byKind[strings.TrimSuffix(w.ObjectRef.Resource+"/"+w.ObjectRef.Subresource, "/")]++
}

// String lists the counts, the highest first.
func (t tally) String() string {
	return fmt.Sprintf("%s; %d of them refused; %d of Leases besides", counted(t.byKind, 1), t.refused, t.leases)
}
