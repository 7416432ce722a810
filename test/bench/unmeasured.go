package main

import "github.com/hosted-control-planes/hypershift/test/bench/report"

// elsewhere are goals that no section measures. A section that does takes its rows from here.
func elsewhere() []report.Row {
	const failed, gap = "failed requests, more than one replica", "longest gap, one replica"
	var rows []report.Row
	rows = append(rows,
		report.Row{What: "deletion of a cluster with workers", Figures: []report.Figure{
			report.Within("until everything is gone", 30, "s").Earlier("73 s, of which Cluster API's provider waits for 54"),
		}},
		report.Row{What: "`make demo` from empty caches on two cores", Figures: []report.Figure{
			report.Within("until the first hosted cluster is Available", 15, "minutes").Earlier("45 minutes beside other work"),
			report.Within("until it ends", 30, "minutes").Earlier("53 minutes beside other work"),
		}},
		report.Row{What: "control-plane-operators of 1,000 clusters, at rest", Figures: []report.Figure{report.Info("AWS calls per hour and account", "")}},
		report.Row{What: "highly available hosted control plane at rest", Figures: []report.Figure{report.Info("memory", "MiB"), report.Info("CPU", "% of a core")}},
	)
	for _, event := range []string{
		"upgrade", "death of an API server's pod", "death of an etcd member", "death of a router", "death of a management machine", "death of a zone",
		"rotation of all certificates", "rotation of encryption keys", "change of the access mode",
	} {
		row := report.Row{What: "requests of users: " + event, Figures: []report.Figure{report.Within(failed, 0, ""), report.Within(gap, 10, "s")}}
		if event == "upgrade" {
			row.Figures[0] = row.Figures[0].Earlier("1 of 1,277")
		}
		rows = append(rows, row)
	}
	return append(rows,
		report.Row{What: "two hours in which clusters and pools are made and deleted", Figures: []report.Figure{
			report.Within("growth of memory, goroutines, watches and AWS calls per hour; leftovers", 0, ""),
		}},
		report.Row{What: "API under load", Figures: []report.Figure{
			report.Info("latency through load balancer and router, 99th percentile", "ms"),
			report.Within("share of the router in it", 5, "%"),
		}},
	)
}
