package main

import (
	"strings"
	"testing"
	"time"
)

// sampleSoak is a soak of which each quarter has two samples with clusters, one of their end, and two at rest. At rest, the heap grows by 3 in each quarter;
// everything else stays.
func sampleSoak() soakResult {
	var r soakResult
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range soakQuarters {
		q := soakQuarter{Began: began, Rested: began.Add(20 * time.Minute), Cycles: 2}
		q.Ended = q.Rested.Add(soakRest)
		r.Quarters = append(r.Quarters, q)
		sample := func(at time.Time, calls float64, more int) {
			r.Samples = append(r.Samples, soakSample{
				At: at, Heap: float64(30 + 3*i + more), Anonymous: float64(50 + more), Goroutines: float64(200 + more), Watches: 40, Series: float64(more), Calls: calls,
			})
		}
		sample(q.Began.Add(time.Minute), 6, 100*i)
		sample(q.Began.Add(2*time.Minute), 6, 100*i)
		sample(q.Rested.Add(soakInterval), 10, 100*i)
		sample(q.Rested.Add(soakSettling), 2, 0)
		sample(q.Ended.Add(-time.Second), 0, 0)
		began = q.Ended
	}
	return r
}

func TestGrowthIsThatOfTheRests(t *testing.T) {
	r := sampleSoak()
	r.Left = []string{"Secret default/left"}
	want := map[string]float64{
		"duration": 1.4, "clusters made and deleted": 8,
		"growth of the heap in use": 30, "growth of anonymous memory": 0, "highest anonymous memory": 350, "growth of goroutines": 0,
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
	r.Quarters[3].Cycles = 1
	if first, last := r.callsOf(r.Quarters[0]), r.callsOf(r.Quarters[3]); first != 12 || last != 24 {
		t.Errorf("got %v and %v", first, last)
	}
}

func TestRestWithoutASampleIsAnError(t *testing.T) {
	r := sampleSoak()
	if err := r.check(); err != nil {
		t.Error(err)
	}
	r.Samples = r.Samples[:len(r.Samples)-2]
	const want = "after quarter 4"
	if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestMetricsOfDeletedClustersAreGrowth(t *testing.T) {
	r := sampleSoak()
	growth := func() float64 {
		return r.growth(func(q soakQuarter) float64 { return r.atRest(q, func(s soakSample) float64 { return s.Series }) })
	}
	for i := len(r.Samples) - 2; i < len(r.Samples); i++ {
		r.Samples[i].Series++
	}
	if got := growth(); got != 100 {
		t.Errorf("the growth of nothing is %v, want 100", got)
	}
	for i := range r.Samples {
		r.Samples[i].Series += 10
	}
	if got := growth(); got != 10 {
		t.Errorf("the growth is %v, want 10", got)
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
