package report

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// further are specs beyond the conformance tests, as a dry run lists them.
var further = []string{
	"[sig-node] Pods should wait",
	"[sig-node] [DRA] control plane supports init containers",
	"[sig-cli] Kubectl copy should copy a file from a running Pod",
	"[sig-storage] In-tree Volumes [Driver: hostPath] [Testpattern: Inline-volume (default fs)] volumes should store data",
	"[sig-storage] In-tree Volumes [Driver: nfs3] [Testpattern: Inline-volume (default fs)] volumes should store data",
	"[sig-storage] In-tree Volumes [Driver: local] [LocalVolumeType: dir] [Testpattern: Dynamic PV (default fs)] volumes should store data",
	"[sig-storage] In-tree Volumes [Driver: local] [LocalVolumeType: dir-link] [Testpattern: Dynamic PV (default fs)] volumes should store data",
	"[sig-storage] PersistentVolumes-local [Volume type: blockfswithformat] One pod requesting one prebound PVC should be able to mount volume and read from pod1",
	"[sig-windows] Services should be able to create a functioning NodePort service for Windows",
}

func TestBeyondLeavesOutGroupsAndOtherSIGs(t *testing.T) {
	for name, c := range map[string]struct {
		Selection
		wanted  []int
		leftOut map[string]int
	}{
		"everything": {wanted: []int{0, 2, 3, 5}, leftOut: map[string]int{
			"NFS": 1, "local volumes that are no plain directories": 2, "dynamic resource allocation with a driver": 1,
		}},
		"a focus counts the groups that are left out of it": {
			Selection: Selection{Focus: regexp.MustCompile("Driver: ")}, wanted: []int{3, 5},
			leftOut: map[string]int{"NFS": 1, "local volumes that are no plain directories": 1},
		},
		"quick has no SIG of these": {Selection: Selection{Quick: true}, leftOut: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, i := range c.wanted {
				want = append(want, further[i])
			}
			wanted, leftOut, skip := Beyond(further, c.Selection)
			if !slices.Equal(wanted, want) {
				t.Errorf("%q run, want %q", wanted, want)
			}
			counts := map[string]int{}
			for _, g := range leftOut {
				counts[g.Group] = g.Specs
			}
			if !reflect.DeepEqual(counts, c.leftOut) {
				t.Errorf("%v are left out, want %v", counts, c.leftOut)
			}
			// ginkgo, too, must run the wanted specs, and no others.
			for _, spec := range further {
				inFocus := c.Focus == nil || c.Focus.MatchString(spec)
				if runs := inFocus && !regexp.MustCompile(skip).MatchString("Kubernetes e2e suite "+spec); runs != slices.Contains(wanted, spec) {
					t.Errorf("ginkgo runs %s: %v", spec, runs)
				}
			}
		})
	}
}

// beyond is a run of specs beyond the conformance tests: one passed, one skipped itself, and one failed that has an explanation.
func beyond() *Report {
	r := &Report{Version: "1.36.3", Commit: "0123456789abcdef", Beyond: true, Workers: 2, Zones: 1, LeftOut: []LeftOut{{Group: "CSI drivers", Reason: "No images.", Specs: 99}}}
	r.Add([]Spec{
		{Name: "[sig-node] one", State: Passed, Seconds: 1},
		{Name: "[sig-node] two", State: Skipped, Message: "Only supported for providers [gce] (not skeleton)\nmore"},
		{Name: "[sig-cli] three | four", State: Failed, Message: "timed out\nmore", Seconds: 2},
	}, nil)
	r.Compare([]string{"[sig-node] one", "[sig-node] two", "[sig-cli] three | four"})
	return r
}

// known explains the failure, one of another version, and two that did not happen: the spec passed, and there is no such spec.
var known = []Explanation{
	{Specs: []string{"three"}, Reason: "The nodes have no disk."},
	{Specs: []string{"two"}, Reason: "It is not for this version.", Version: "1.35.4"},
	{Specs: []string{"[sig-node] one", "[sig-node] five"}, Reason: "It was so."},
}

func TestFailureWithoutAnExplanationFailsTheRun(t *testing.T) {
	r := beyond()
	const want = "not all specs passed:\n  failed: [sig-cli] three | four: timed out"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	r.Explain(known)
	if err := r.Err(); err != nil {
		t.Errorf("a run whose only failure is explained has the error %v", err)
	}
	want2 := []string{
		"failed, explained: [sig-cli] three | four: The nodes have no disk.",
		"stale explanation, because no such spec failed: [sig-node] one", "stale explanation, because no such spec failed: [sig-node] five",
	}
	if got := r.Notes(); !slices.Equal(got, want2) {
		t.Errorf("the notes are %q, want %q", got, want2)
	}
	r.Compare([]string{"[sig-node] one", "[sig-node] never"})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "not run: [sig-node] never") {
		t.Errorf("a wanted spec did not run, and the error is %v", err)
	}
}

func TestExplanationOfASpecThatIsNotSelectedIsNotStale(t *testing.T) {
	r := beyond()
	r.Selection = "focus one"
	r.Explain(known)
	if want := []string{"[sig-node] one"}; !slices.Equal(r.Stale, want) {
		t.Errorf("%q are stale, want %q", r.Stale, want)
	}
}

func TestTableBeyondHasSkippedAndExplainedSpecs(t *testing.T) {
	r := beyond()
	r.Explain(known)
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
    SIG  selected  passed  skipped themselves  failed, explained  failed  not run  seconds
    cli         1       0                   0                  1       0        0        2
   node         2       1                   1                  0       0        0        1
  total         3       1                   1                  1       0        0        3
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestPageHasTheSpecsBeyondConformance(t *testing.T) {
	dir, versions := t.TempDir(), []string{"1.36.3"}
	during := beyond()
	during.During, during.Objects = "rotation", 30120
	for file, r := range map[string]*Report{"1.36.3-beyond.json": beyond(), "1.36.3-rotation.json": during} {
		if err := r.Write(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadOthers(dir, versions, nil); err == nil || !strings.Contains(err.Error(), "[sig-cli] three") {
		t.Errorf("a report with a failure that nobody has explained is accepted: %v", err)
	}
	others, err := ReadOthers(dir, versions, known)
	if err != nil {
		t.Fatal(err)
	}
	page := Page(versions, nil, others)
	for _, want := range []string{
		"**1 of 3** specs passed, 1 skipped themselves, and 1 failed for a reason that is known: on ",
		"node 1 of 2",
		"\n| [sig-cli] three \\| four | The nodes have no disk. |\n",
		"\n| left out | specs | why |\n|---|---|---|\n| CSI drivers | 99 | No images. |\n",
		"\n| Only supported for providers [gce] (not skeleton) | 1 |\n",
		"| rotation | 1.36.3 | SingleReplica, PublicAndPrivate, 2 workers in 1 zone, 30,120 objects | all, beyond conformance | " +
			"1 of 3, 1 skipped themselves, 1 failed and are explained | ",
		"- rotation, failed: [sig-cli] three | four: The nodes have no disk.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if n := strings.Count(page, "**1 of 3**"); n != 1 {
		t.Errorf("%d runs are in the section, want 1", n)
	}
	if page := Page(versions, nil, nil); !strings.Contains(page, "They have not run yet.") {
		t.Errorf("the page without a run is\n%s", page)
	}
}
