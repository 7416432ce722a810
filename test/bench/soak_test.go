package main

import (
	"strings"
	"testing"
	"time"
)

// sampleSoak is a soak of eight samples: the heap grows by 3 in each quarter, everything else stays.
func sampleSoak() soakResult {
	r := soakResult{Hours: 2, Cycles: 8}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 8 {
		r.Samples = append(r.Samples, soakSample{
			At: began.Add(time.Duration(i) * soakInterval), Heap: float64(30 + 3*(i/2)), Anonymous: 50, Goroutines: 200, Watches: 40, Series: 100, Calls: 12, Cycle: 1,
		})
	}
	return r
}

func TestGrowthIsThatOfTheLastQuarter(t *testing.T) {
	r := sampleSoak()
	r.Left = []string{"Secret default/left"}
	want := map[string]float64{
		"duration": 2, "clusters made and deleted": 8, "growth of the heap in use": 30, "growth of anonymous memory": 0, "growth of goroutines": 0,
		"growth of watches of the API server": 0, "growth of metrics about clusters and pools": 0, "growth of AWS calls for each cluster": 0, "leftovers": 1,
	}
	figures := soakRows([]soakResult{r})[0].Figures
	if len(figures) != len(want) {
		t.Errorf("there are %d figures, want %d", len(figures), len(want))
	}
	for _, f := range figures {
		if f.Value() != want[f.Name] {
			t.Errorf("%s is %v, want %v", f.Name, f.Value(), want[f.Name])
		}
		if missed := f.Name == "growth of the heap in use" || f.Name == "leftovers"; f.Missed() != missed {
			t.Errorf("%s: missed is %t", f.Name, f.Missed())
		}
	}
}

func TestMoreCallsForEachClusterAreGrowth(t *testing.T) {
	r := sampleSoak()
	r.Samples[6].Calls, r.Samples[6].Cycle = 36, 1
	r.Samples[7].Cycle = 0
	if first, last := r.callsPerCycle(); first != 12 || last != 48 {
		t.Errorf("got %v and %v", first, last)
	}
}

func TestQuarterWithoutDeletionsIsAnError(t *testing.T) {
	r := sampleSoak()
	if err := r.check(); err != nil {
		t.Error(err)
	}
	r.Samples[6].Cycle, r.Samples[7].Cycle = 0, 0
	const want = "in the last quarter of 120.0 minutes"
	if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	r.Samples = nil
	if err := r.check(); err == nil {
		t.Error("no samples are not an error")
	}
}

func TestClustersBelongToTheSampleAfterTheirEnd(t *testing.T) {
	r := sampleSoak()
	at := func(i int, more time.Duration) time.Time { return r.Samples[i].At.Add(more) }
	ends := []time.Time{at(0, -time.Second), at(1, 0), at(1, time.Second), at(2, 0), at(7, time.Second)}
	for i, want := range []float64{1, 1, 2, 0} {
		if got := endedSince(ends, r.Samples, i); got != want {
			t.Errorf("sample %d has %v clusters, want %v", i, got, want)
		}
	}
	if got := within(r.Samples, at(2, 0), at(5, time.Second)); len(got) != 4 {
		t.Errorf("%d samples are within the time, want 4", len(got))
	}
}

func TestWatchesAreCounted(t *testing.T) {
	text := "# TYPE apiserver_longrunning_requests gauge\n" +
		"apiserver_longrunning_requests{group=\"\",resource=\"pods\",verb=\"WATCH\"} 3\n" +
		"apiserver_longrunning_requests{group=\"apps\",resource=\"deployments\",verb=\"WATCH\"} 1.2e+01\n" +
		"apiserver_longrunning_requests{group=\"\",resource=\"pods\",verb=\"CONNECT\"} 100\n"
	if n, err := watches(text); err != nil || n != 15 {
		t.Errorf("got %v, %v", n, err)
	}
	if n, err := watches("# nothing\n"); err == nil {
		t.Errorf("metrics without watches have %v", n)
	}
}
