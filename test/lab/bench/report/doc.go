// Package report contains the figures of the bench: their goals, the figures of other projects, the measurements, and the page
// docs/benchmarks.md, which is written from a file of results.
//
//	code of the bench   sections, rows, goals, others, attempts ───────┐
//	results.json        samples, with commit, date and machine ────────┴─► Merge ─► page
//
// The page has every row of the code. A row that is not in the results is shown as not measured.
package report
