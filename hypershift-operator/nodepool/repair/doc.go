// Package repair replaces machines that do not become nodes, with a back-off.
//
//	plan.go      decides which machines to replace, and when (pure)
//	repair.go    records and deletes them
package repair
