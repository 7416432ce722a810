// Package privilege compares what our programs may do with what they do.
//
//	config/rbac, config/iam ─► ServiceAccounts, Roles (grants.go)      may
//	audit log of a bed      ─► Audit (audit.go)                        did
//	call log of the emulator ─► Calls (calls.go)                       did
//	                             └─► Report (report.go): refused; granted and never used, with the reason (reasons.go)
//	the same grants         ─► docs/permissions.md (page.go)
//
// What is refused is a mistake of ours: a program does something that we ship no permission for. What is never used is a question:
// some permissions are for what no test gets to, and reasons.go says for what; the others should go.
package privilege
