package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
)

// Outcome is how a step has ended.
type Outcome string

const (
	Passed      Outcome = "passed"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Skipped     Outcome = "skipped"
)

// Result is the result of a step.
type Result struct {
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Began   time.Time `json:"began,omitzero"`
	Seconds float64   `json:"seconds"`
	Outcome Outcome   `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
	// Output is the end of the output.
	Output string `json:"output,omitempty"`
}

// Report is the result of a trial.
type Report struct {
	Cluster      string     `json:"cluster"`
	InfraID      string     `json:"infraID,omitempty"`
	Region       string     `json:"region"`
	InstanceType string     `json:"instanceType"`
	Began        time.Time  `json:"began"`
	Ended        time.Time  `json:"ended,omitzero"`
	Steps        []Result   `json:"steps"`
	Resources    []resource `json:"resources,omitempty"`
	Cost         Cost       `json:"cost"`
}

// Passed is true if all steps have passed.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Steps, func(s Result) bool { return s.Outcome != Passed })
}

// Cost is an estimate: the hours between the first write and the end of the deletion, with list prices.
type Cost struct {
	Dollars  float64  `json:"dollars"`
	Hours    float64  `json:"hours"`
	Prices   string   `json:"prices"`
	Rows     []Row    `json:"rows,omitempty"`
	Unpriced []string `json:"unpriced,omitempty"`
	Without  []string `json:"without"`
}

// Row is the cost of the resources of a kind.
type Row struct {
	Kind    string  `json:"kind"`
	Count   int     `json:"count"`
	Hour    float64 `json:"dollarsPerHour"`
	Dollars float64 `json:"dollars"`
}

// free are kinds that are free of charge, at least within some hours.
var free = []string{
	"VPC", "Subnet", "Route table", "Internet gateway", "DHCP options", "Security group", "Role", "Instance profile", "OIDC provider",
	// Hosted zones that are deleted within 12 hours are not charged: https://aws.amazon.com/route53/pricing/.
	"Private hosted zone",
}

// estimate computes the cost of the resources, from the beginning of create to the end of destroy.
func estimate(prices listprices.Prices, resources []resource, instanceType string, hours float64) Cost {
	c := Cost{Hours: hours, Prices: fmt.Sprintf("list prices of %s on %s", prices.Region, prices.Date), Without: prices.Without}
	counts, order := map[string]int{}, []string{}
	for _, r := range resources {
		if counts[r.Kind]++; counts[r.Kind] == 1 {
			order = append(order, r.Kind)
		}
	}
	for _, kind := range order {
		at := -1
		for i, p := range prices.Prices {
			if p.Kind == kind && p.Hour > 0 && (p.Key == "" || p.Key == instanceType) {
				at = i
			}
		}
		if at < 0 {
			if !slices.Contains(free, kind) {
				c.Unpriced = append(c.Unpriced, fmt.Sprintf("%d × %s", counts[kind], kind))
			}
			continue
		}
		p, charged := prices.Prices[at], hours
		if p.Whole {
			charged = math.Ceil(hours)
		}
		row := Row{Kind: strings.TrimSpace(kind + " " + p.Key), Count: counts[kind], Hour: p.Hour, Dollars: float64(counts[kind]) * p.Hour * charged}
		c.Rows = append(c.Rows, row)
		c.Dollars += row.Dollars
	}
	return c
}

// hours returns the time from the beginning of create to the end of destroy.
func (r *Report) hours() float64 {
	var began, ended time.Time
	for _, s := range r.Steps {
		switch s.Name {
		case "create":
			began = s.Began
		case "destroy":
			ended = s.Began.Add(time.Duration(s.Seconds * float64(time.Second)))
		}
	}
	if began.IsZero() || ended.Before(began) {
		return 0
	}
	return ended.Sub(began).Hours()
}

// write replaces the report. A trial that ends early leaves the report of the steps before.
func (r *Report) write(directory string) error {
	prices, err := listprices.Load()
	if err != nil {
		return err
	}
	r.Cost = estimate(prices, r.Resources, r.InstanceType, r.hours())
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for name, content := range map[string][]byte{"report.json": append(text, '\n'), "report.md": []byte(r.markdown())} {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path+".new", content, 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Trial on AWS\n\nCluster %s, infra ID %s, region %s, from %s to %s.\n\n", r.Cluster, r.InfraID, r.Region, r.Began.Format(time.RFC3339), r.Ended.Format(time.RFC3339))
	b.WriteString("| Step | Result | Seconds | Reason |\n|---|---|---|---|\n")
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s |\n", s.Name, s.Outcome, s.Seconds, cell(s.Reason))
	}
	fmt.Fprintf(&b, "\n## Cost\n\nAn estimate of %.2f dollars for %.2f hours, with %s. Not included: %s.\n\n", r.Cost.Dollars, r.Cost.Hours, r.Cost.Prices, strings.Join(r.Cost.Without, ", "))
	b.WriteString("| Resource | Number | Dollars per hour | Dollars |\n|---|---|---|---|\n")
	for _, row := range r.Cost.Rows {
		fmt.Fprintf(&b, "| %s | %d | %.4f | %.2f |\n", row.Kind, row.Count, row.Hour, row.Dollars)
	}
	if len(r.Cost.Unpriced) > 0 {
		fmt.Fprintf(&b, "\nWithout a price: %s.\n", strings.Join(r.Cost.Unpriced, ", "))
	}
	for _, s := range r.Steps {
		if s.Output == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## Output of %s\n\n", s.Name)
		if s.Command != "" {
			fmt.Fprintf(&b, "    $ %s\n", s.Command)
		}
		for line := range strings.SplitSeq(strings.TrimRight(s.Output, "\n"), "\n") {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

func cell(text string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text) }
