package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPlotHasEachFigureWithAGoal(t *testing.T) {
	rows := []Row{{What: "start <fast>", Figures: []Figure{
		Within("time", 10, "s", 5).With(Other{Project: "Someone", Value: "20 to 40 s"}, Other{Project: "Another", Value: "fast"}),
		Within("memory", 10, "MB", 30), Within("writes", 0, "", 0), Within("absent", 10, "s"), Info("CPU", "s", 3),
	}}}
	points := pointsOf(rows)
	if len(points) != 2 || points[0].ratio != 0.5 || points[1].ratio != 3 || len(points[0].others) != 1 || points[0].others[0].from != 2 || points[0].others[0].to != 4 {
		t.Errorf("%+v", points)
	}
	text, err := Plot([]Section{{Name: "one", Rows: rows}}, &Results{})
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if plotX(1) <= plotX(0.5) || plotX(0) != plotX(plotLeast) || plotX(1e9) != plotX(plotMost) {
		t.Error("the axis has no order, or no ends")
	}
}

func TestNumbersOfOtherProjects(t *testing.T) {
	for text, want := range map[string][2]float64{"33 s": {33, 33}, "267 to 277 s": {267, 277}, "9 minutes": {}, "all at once": {}, "12.3 s; 6.6 s with probes": {}} {
		from, to, ok := numbers(text, "s")
		if ok != (want[0] > 0) || from*to != want[0]*want[1] {
			t.Errorf("%s: %v to %v, %t", text, from, to, ok)
		}
	}
}
