package main

import "github.com/hosted-control-planes/hypershift/test/bench/report"

// elsewhere are goals that no section measures. A section that does takes its rows from here.
func elsewhere() []report.Row {
	return []report.Row{
		{What: "`make demo` from empty caches on two cores", Figures: []report.Figure{
			report.Within("until the first hosted cluster is Available", 15, "minutes").Earlier("45 minutes beside other work"),
			report.Within("until it ends", 30, "minutes").Earlier("53 minutes beside other work"),
		}},
	}
}
