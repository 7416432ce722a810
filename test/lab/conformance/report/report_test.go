package report

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const someList = `
- testname: Folded
  codename: '[sig-node] A pod with a ''quoted'' name that is
    folded should run [Conformance]'
  description: ' codename: this is text'
  release: v1.9
- testname: Plain
  codename: "[sig-apps] A \"double\" one should run [Serial] [Conformance]"
- testname: Twice
  codename: '[sig-node] A pod with a ''quoted'' name that is folded should run [Conformance]'
`

func TestListHasTheNamesOfSpecsOnce(t *testing.T) {
	got, err := parseList([]byte(someList))
	want := []string{`[sig-node] A pod with a 'quoted' name that is folded should run [Conformance]`, `[sig-apps] A "double" one should run [Serial] [Conformance]`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for name, text := range map[string]string{"an empty list": "[]", "an entry without a name": "- testname: one\n", "no list": "codename: one\n"} {
		if got, err := parseList([]byte(text)); err == nil {
			t.Errorf("%s is accepted: %q", name, got)
		}
	}
}

func TestSelection(t *testing.T) {
	all := []string{
		"[sig-apps] A [Conformance]", "[sig-apps] B [Serial] [Conformance]", "[sig-api-machinery] C [Slow] [Conformance]",
		"[sig-network] D [Conformance]", "[sig-node] E [Conformance]",
	}
	for name, c := range map[string]struct {
		Selection
		want []string
	}{
		"everything by default":              {want: all},
		"quick: no serial and no slow specs": {Selection: Selection{Quick: true}, want: []string{all[0], all[3]}},
		"focus on a part of the name":        {Selection: Selection{Focus: regexp.MustCompile(`D|\[Serial\]`)}, want: []string{all[1], all[3]}},
		"both":                               {Selection: Selection{Focus: regexp.MustCompile(`D|E`), Quick: true}, want: []string{all[3]}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.Of(all); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// someReport contains a spec of each state, a spec that is not selected, and nodes of the suite.
const someReport = `[{"SpecialSuiteFailureReasons": ["Suite Timeout Elapsed"], "SpecReports": [
 {"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed"},
 {"ContainerHierarchyTexts": ["[sig-node] Pods", ""], "LeafNodeType": "It", "LeafNodeText": "should run [Conformance]", "State": "passed", "RunTime": 1500000000, "NumAttempts": 2},
 {"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeType": "It", "LeafNodeText": "should end [Conformance]", "State": "failed", "RunTime": 2000000000, "Failure": {"Message": "it did not\nlater"}},
 {"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "hangs [Conformance]", "State": "timedout"},
 {"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "needs two nodes [Conformance]", "State": "skipped", "Failure": {"Message": "one node"}},
 {"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "is not selected", "State": "skipped"},
 {"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "is pending", "State": "pending"},
 {"LeafNodeType": "AfterSuite", "State": "panicked", "Failure": {"Message": "nil"}}
]}]`

func TestReportOfGinkgoHasTheSpecsThatRan(t *testing.T) {
	specs, problems, err := Parse(strings.NewReader(someReport))
	if err != nil {
		t.Fatal(err)
	}
	want := []Spec{
		{Name: "[sig-node] Pods should run [Conformance]", State: Passed, Seconds: 1.5, Attempts: 2},
		{Name: "[sig-node] Pods should end [Conformance]", State: Failed, Seconds: 2, Message: "it did not\nlater"},
		{Name: "[sig-apps] Job hangs [Conformance]", State: Failed, Message: "timedout"},
		{Name: "[sig-apps] Job needs two nodes [Conformance]", State: Skipped, Message: "one node"},
	}
	if !reflect.DeepEqual(specs, want) {
		t.Errorf("got %+v, want %+v", specs, want)
	}
	if want := []string{"Suite Timeout Elapsed", "AfterSuite: nil"}; !slices.Equal(problems, want) {
		t.Errorf("the problems are %q, want %q", problems, want)
	}
	if _, _, err := Parse(strings.NewReader("[{")); err == nil {
		t.Error("half a report is accepted")
	}
}

// compared is the report above, compared with a list that has one more spec.
func compared(t *testing.T) *Report {
	t.Helper()
	specs, _, err := Parse(strings.NewReader(someReport))
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Version: "1.36.3", Commit: "0123456789abcdef", Date: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC), Workers: 2, Zones: 1, Minutes: 29.6}
	r.Add(specs, nil)
	wanted := []string{"[sig-cli] never [Conformance]"}
	for _, s := range specs {
		wanted = append(wanted, s.Name)
	}
	r.Compare(wanted)
	return r
}

func TestTableCountsEachSIG(t *testing.T) {
	var out strings.Builder
	if err := compared(t).Print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
    SIG  in the list  ran  passed  failed  not run  seconds
   apps            2    1       0       1        1        0
    cli            1    0       0       0        1        0
   node            2    2       1       1        0        4
  total            5    3       1       2        2        4
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestErrorNamesAllSpecsThatDidNotPass(t *testing.T) {
	r := compared(t)
	r.Problems = []string{"Suite Timeout Elapsed"}
	const want = `not all specs passed:
  the suite: Suite Timeout Elapsed
  failed: [sig-apps] Job hangs [Conformance]: timedout
  failed: [sig-node] Pods should end [Conformance]: it did not
  not run: [sig-apps] Job needs two nodes [Conformance]: one node
  not run: [sig-cli] never [Conformance]`
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	passed := &Report{Specs: []Spec{{Name: "one", State: Passed}}}
	if passed.Compare([]string{"one"}); passed.Err() != nil {
		t.Errorf("a run in which all specs passed has the error %v", passed.Err())
	}
	if passed.Compare([]string{"one", "two"}); passed.Err() == nil {
		t.Error("a spec of the list did not run, and there is no error")
	}
}

func TestSpecThatFailedOnceHasFailed(t *testing.T) {
	r := &Report{}
	r.Add([]Spec{{Name: "one", State: Failed}, {Name: "two", State: Passed, Attempts: 2}, {Name: "three", State: Skipped}, {Name: "four", State: Passed}}, nil)
	r.Add([]Spec{{Name: "one", State: Passed}, {Name: "two", State: Passed}, {Name: "three", State: Passed}, {Name: "four", State: Failed}}, nil)
	r.Compare([]string{"one", "two", "three", "four"})
	want := []Spec{{Name: "four", State: Failed}, {Name: "one", State: Failed}, {Name: "three", State: Passed}, {Name: "two", State: Passed, Attempts: 2}}
	if !reflect.DeepEqual(r.Specs, want) {
		t.Errorf("got %+v", r.Specs)
	}
}

func TestPageHasTheRunOfEachVersion(t *testing.T) {
	dir := t.TempDir()
	r := compared(t)
	if err := r.Write(filepath.Join(dir, "1.36.3.json")); err != nil {
		t.Fatal(err)
	}
	versions := []string{"1.36.3", "1.35.4"}
	reports, err := ReadAll(dir, versions)
	if err != nil {
		t.Fatal(err)
	}
	page := Page(versions, reports, nil)
	for _, want := range []string{
		"\n## Kubernetes 1.36.3\n\n**1 of 5** specs passed on 2026-11-23, at commit 01234567, in 30 minutes, on a hosted cluster with 2 workers in 1 zone.\n",
		"node 1 of 2",
		"\nfailed: [sig-apps] Job hangs [Conformance]\n", "\nnot run: [sig-cli] never [Conformance]\n",
		"\n## Kubernetes 1.35.4\n\n`make conformance` has not run for this version yet.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestPageHasFurtherRuns(t *testing.T) {
	dir, versions := t.TempDir(), []string{"1.36.3", "1.35.4"}
	r := compared(t)
	r.Selection, r.Availability, r.Access, r.During = "quick", "HighlyAvailable", "Private", "deaths"
	r.Events = []string{"death of a router: 3 killed in turn", "death of an etcd member: 3 killed in turn", "death of a router: 3 killed in turn"}
	if err := errors.Join(r.Write(filepath.Join(dir, "1.36.3-deaths.json")), compared(t).Write(filepath.Join(dir, "1.36.3.json"))); err != nil {
		t.Fatal(err)
	}
	others, err := ReadOthers(dir, versions, nil)
	if err != nil || len(others) != 1 {
		t.Fatalf("%d reports, %v", len(others), err)
	}
	page := Page(versions, nil, others)
	for _, want := range []string{
		"| deaths | 1.36.3 | HighlyAvailable, Private, 2 workers in 1 zone | quick | 1 of 5, 1 of them not at once | 2 × death of a router, 1 × death of an etcd member | 2026-11-23, 01234567, 30 minutes |\n",
		"- deaths, failed: [sig-apps] Job hangs [Conformance]\n", "- deaths, not run: [sig-cli] never [Conformance]\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestPageIsOfCompleteRuns(t *testing.T) {
	for name, r := range map[string]*Report{
		"a quick run":              {Version: "1.36.3", Selection: "quick"},
		"a run of another version": {Version: "1.35.4"},
		"a run during deaths":      {Version: "1.36.3", During: "deaths"},
		"a run of other specs":     {Version: "1.36.3", Beyond: true},
		"a run with objects":       {Version: "1.36.3", Objects: 300},
	} {
		dir := t.TempDir()
		if err := r.Write(filepath.Join(dir, "1.36.3.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAll(dir, []string{"1.36.3"}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.36.3.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAll(dir, []string{"1.36.3"}); err == nil {
		t.Error("half a file is accepted")
	}
}
