// Package report has the figures of the bench: their goals, the figures of other projects, what was measured, and the page
// docs/benchmarks.md, which is written from a file of results.
//
//	code of the bench   sections, rows, goals, others, what was tried ─┐
//	results.json        samples, with commit, date and machine ────────┴─► Merge ─► page
//
// The page has every row of the code. One that is not in the results is shown as not measured.
package report
