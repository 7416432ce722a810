package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sizes of the plot, in pixels.
const (
	plotLabels = 560
	plotBars   = 560
	plotRow    = 17
	plotHead   = 64
	plotFoot   = 16
	// plotLeast and plotMost are the ends of the logarithmic axis, as multiples of the goal.
	plotLeast, plotMost = 0.01, 10.0
)

// point is a figure as a multiple of its goal, with the same figures of other projects.
type point struct {
	label  string
	value  string
	ratio  float64
	others []otherPoint
}

type otherPoint struct {
	title    string
	from, to float64
}

// Plot draws all measured figures with a goal that is not zero as an SVG: each as a multiple of its goal, with the figures of other projects. A figure of
// zero, and one far below its goal, is at the left end.
func Plot(sections []Section, results *Results) (string, error) {
	merged, err := Merge(sections, results)
	if err != nil {
		return "", err
	}
	points := pointsOf(rowsOf(merged))
	slices.SortStableFunc(points, func(a, b point) int {
		switch {
		case a.ratio > b.ratio:
			return -1
		case a.ratio < b.ratio:
			return 1
		}
		return strings.Compare(a.label, b.label)
	})
	var out strings.Builder
	height := plotHead + plotRow*len(points) + plotFoot
	fmt.Fprintf(&out, plotBegin, plotLabels+plotBars+40, height, plotLabels+plotBars+40, height)
	for _, multiple := range []float64{0.01, 0.1, 0.5, 1, 2, 5, 10} {
		class := "grid"
		if multiple == 1 {
			class = "goal"
		}
		x := plotX(multiple)
		fmt.Fprintf(&out, "<line class=%q x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", class, x, x, plotHead-8, height-plotFoot)
		fmt.Fprintf(&out, "<text class=\"axis\" x=\"%.1f\" y=\"%d\">%s</text>\n", x, plotHead-14, strconv.FormatFloat(multiple, 'g', -1, 64))
	}
	for i, p := range points {
		p.draw(&out, plotHead+plotRow*i)
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

func pointsOf(rows []Row) (points []point) {
	for _, r := range rows {
		for _, f := range r.Figures {
			if f.Goal == nil || *f.Goal <= 0 || !f.Measured() {
				continue
			}
			p := point{label: strings.TrimSuffix(r.What+": "+f.Name, ": "), value: f.amount(f.Value()) + " of " + f.amount(*f.Goal), ratio: f.Value() / *f.Goal}
			for _, o := range f.Others {
				if from, to, ok := numbers(o.Value, f.Unit); ok {
					p.others = append(p.others, otherPoint{o.Project + " " + o.Value, from / *f.Goal, to / *f.Goal})
				}
			}
			points = append(points, p)
		}
	}
	return points
}

// amounts is a number, or a range of numbers, with a unit.
var amounts = regexp.MustCompile(`^([0-9.]+)(?: to ([0-9.]+))? ?(.*)$`)

// numbers returns the number, or the range, of a figure in this unit. Figures in words, and in other units, have none.
func numbers(text, unit string) (from, to float64, ok bool) {
	match := amounts.FindStringSubmatch(text)
	if match == nil || match[3] != unit {
		return 0, 0, false
	}
	from, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, 0, false
	}
	to = from
	if match[2] != "" {
		if to, err = strconv.ParseFloat(match[2], 64); err != nil {
			return 0, 0, false
		}
	}
	return from, to, true
}

// plotX is the position of a multiple of the goal.
func plotX(ratio float64) float64 {
	ratio = min(max(ratio, plotLeast), plotMost)
	return plotLabels + plotBars*math.Log(ratio/plotLeast)/math.Log(plotMost/plotLeast)
}

// labelLength is how many characters of a label fit.
const labelLength = 92

func (p point) draw(out *strings.Builder, y int) {
	class, label := "met", p.label
	if p.ratio > 1 {
		class = "missed"
	}
	if runes := []rune(label); len(runes) > labelLength {
		label = "…" + string(runes[len(runes)-labelLength+1:])
	}
	fmt.Fprintf(out, "<g><title>%s: %s</title><text class=\"label\" x=\"%d\" y=\"%d\">%s</text>", escaped(p.label), escaped(p.value), plotLabels-8, y+11, escaped(label))
	x, goal := plotX(p.ratio), plotX(1)
	fmt.Fprintf(out, "<rect class=%q x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"9\"/></g>\n", class, min(x, goal), y+3, max(math.Abs(x-goal), 2))
	for _, o := range p.others {
		from, to := plotX(o.from), plotX(o.to)
		fmt.Fprintf(out, "<rect class=\"other\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"13\"><title>%s</title></rect>\n", from-2, y+1, to-from+4, escaped(o.title))
	}
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder has no errors
	return out.String()
}

const plotBegin = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="11">
<style>
.axis{text-anchor:middle;fill:#57606a}.label{text-anchor:end;fill:#24292f}.grid{stroke:#d0d7de}.goal{stroke:#24292f;stroke-width:2}
.met{fill:#2da44e}.missed{fill:#cf222e}.other{fill:#8250df}.legend{fill:#24292f}
@media (prefers-color-scheme:dark){.axis{fill:#8b949e}.label,.legend{fill:#e6edf3}.grid{stroke:#30363d}.goal{stroke:#e6edf3}.met{fill:#3fb950}.missed{fill:#f85149}.other{fill:#bc8cff}}
</style>
<text class="legend" x="8" y="18" font-size="14" font-weight="bold">Measured figures as multiples of their goals</text>
<text class="legend" x="8" y="36"><tspan class="met">■</tspan> within the goal  <tspan class="missed">■</tspan> above the goal  <tspan class="other">■</tspan> another project, in the same unit. The axis is logarithmic; less is better.</text>
`
