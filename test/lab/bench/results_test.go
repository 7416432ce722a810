package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

func TestGoalsAreNamedOnceAndHaveNoMeasurements(t *testing.T) {
	names, others := map[string]bool{}, 0
	for _, s := range goals() {
		if len(s.Rows) == 0 || s.Where == "" {
			t.Errorf("section %q has %d rows, in %q", s.Name, len(s.Rows), s.Where)
		}
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				name := r.What + ": " + f.Name
				if names[name] {
					t.Errorf("%s is there twice", name)
				}
				names[name] = true
				if f.Measured() || f.Detail != "" {
					t.Errorf("%s has samples %v and the detail %q before it is measured", name, f.Samples, f.Detail)
				}
				for _, o := range f.Others {
					if o.Project == "" || o.Value == "" || o.Source == "" {
						t.Errorf("%s has the incomplete figure %+v of another project", name, o)
					}
					others++
				}
			}
		}
	}
	if len(names) < 80 || others < 30 {
		t.Errorf("only %d figures and %d of other projects", len(names), others)
	}
}

// The rows of a measurement have the names of the rows with goals.
func TestMeasurementsBelongToGoals(t *testing.T) {
	measured := map[string][]report.Row{
		"one cluster":        oneClusterRows([]life{{}, {}}),
		"at rest":            atRestRows([]quiet{{}}, []quiet{{}}),
		"AWS infrastructure": infrastructureRows([]infrastructureTime{{}}),
		"1,000 services":     thousandRows([]cost{{}}, []float64{1}, cost{}, []restShare{{}}),
		"200 HostedClusters": hostedClustersRows([]made{{Replay: 1}}),
		"hosted control planes, one after the other": hostedControlPlaneLivesRows(func() *labLives {
			l := &labLives{}
			l.add(labLife{})
			l.manifests, l.processes, l.wake = []float64{1}, []float64{1}, []float64{1}
			return l
		}()),
		"etcd and kube-apiserver as processes": bareProcessesRows([]float64{1}),
		"hosted control planes, one at rest":   {atOnceRow(1, []labLife{{}})},
		"hosted control planes, many at once":  {atOnceRow(5, []labLife{{}}), atOnceRow(10, []labLife{{}})},
		"node pools":                           {nodePoolRow(kindsOfImages[0].name, []poolLife{{}}), nodePoolRow(kindsOfImages[1].name, []poolLife{{}}), nodePoolRow(kindsOfImages[2].name, []poolLife{{}}), withNodeRow([]rested{{}})},
	}
	events := map[string]fired{}
	for _, event := range fireEvents {
		events[event.Name] = fired{}
	}
	measured["200 HostedClusters without node pools"] = withoutPoolsRows([]made{{Replay: 1}})
	for _, f := range fleets {
		measured["restart with "+f.name()] = restartRows(f, []cost{{}}, []fleetAtRest{{}}, []touchedPools{{}})
	}
	measured["control-plane-operators at rest"] = fleetCallsRows([]quiet{{}})
	measured["highly available at rest"] = highlyAvailableRows([]labLife{{}})
	measured["deletion with workers"] = deletionWithWorkersRows([]goneParts{nil})
	one := []float64{1}
	measured["day two"] = dayTwoRows(&dayTwoResult{backup: one, operatorBefore: one, operatorPeak: one, restore: one, restoreGap: one, move: one, moveGap: one})
	measured["API under load"] = apiUnderLoadRows([]apiLatency{sampleLatency()})
	measured["under fire"] = fireRows(events)
	measured["large cluster"] = largeClusterRows([]largeResult{{apiLatency: sampleLatency()}})
	results := &report.Results{}
	measured["cold demo"] = coldDemoRows(demoTimes{available: []float64{17}, ended: []float64{36}})
	measured["soak"] = soakRows([]soakResult{sampleSoak()})
	all := append(slices.Clone(sections), named...)
	for _, s := range all {
		results.Add(report.Measurement{Section: s.name, Rows: measured[s.name]})
	}
	merged, err := report.Merge(goals(), results)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range merged[:len(all)] {
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				if !f.Measured() {
					t.Errorf("%s: the measurement has no sample of %q, %q", all[i].name, r.What, f.Name)
				}
			}
		}
	}
}

func TestResultsAreKeptBySection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	for _, seconds := range []float64{9, 12} {
		m, err := sections[1].begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Commit == "" || m.Machine == "" || m.Date.IsZero() {
			t.Errorf("got the measurement %+v", m)
		}
		m.Rows = atRestRows([]quiet{{WorstHour: int(seconds)}}, nil)
		if err := keep(file, m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := report.Read(file)
	if err != nil || len(got.Sections) != 1 || got.Sections[0].Rows[0].Figures[1].Value() != 12 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := keep(file, report.Measurement{Section: "no such section"}); err == nil {
		t.Error("results that have no goals are written")
	}
}

// docs/benchmarks.md is generated from the committed results, and each missed goal is explained.
func TestPageIsUpToDate(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	results, err := report.Read(filepath.Join(root, committed))
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "results.json")
	if err := results.Write(again); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, filepath.Join(root, committed)), read(t, again); got != want {
		t.Errorf("%s has another form than the bench writes:\n%s", committed, want)
	}
	merged, err := report.Merge(goals(), results)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range merged {
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				if f.Missed() && f.Tried == "" {
					t.Errorf("%q, %q misses its goal, and the code does not describe what was tried", r.What, f.Name)
				}
			}
		}
	}
	for name, content := range generated {
		want, err := content(root)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, "docs", name)); err != nil || string(got) != want {
			t.Errorf("docs/%s is not up to date (%v): run go -C test/lab run ./bench -page", name, err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sampleLatency() apiLatency {
	sample := latencies{{3}, {2}, {1}}
	a := apiLatency{Kinds: map[string]latencies{watched: sample}, Throughput: sample}
	for _, kind := range requestKinds {
		a.Kinds[kind.name] = sample
	}
	return a
}
