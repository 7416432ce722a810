// Command promql reads PromQL expressions, a JSON array, and writes the names of the metrics that each is about, an array of
// arrays. It fails at the first invalid one. It is a module of its own, so that this project does not depend on Prometheus.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run() error {
	var exprs []string
	if err := json.NewDecoder(os.Stdin).Decode(&exprs); err != nil {
		return err
	}
	all := [][]string{}
	p := parser.NewParser(parser.Options{})
	for _, text := range exprs {
		expr, err := p.ParseExpr(text)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		names := []string{}
		for _, selector := range parser.ExtractSelectors(expr) {
			for _, m := range selector {
				if m.Name == labels.MetricName {
					names = append(names, m.Value)
				}
			}
		}
		all = append(all, names)
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}
