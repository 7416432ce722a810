// Package privilege compares the permissions of the programs with the permissions that they use.
//
//	config/rbac, config/iam ─► ServiceAccounts, Roles (grants.go)      granted
//	audit log of a run      ─► Audit (audit.go)                        used
//	call log of the emulator ─► Calls (calls.go)                       used
//	                             └─► Report (report.go): refused; granted and never used, with the reason (reasons.go)
//	the same grants         ─► docs/permissions.md (page.go)
//
// A refused request is a defect: the shipped permissions do not allow it. An unused permission needs a reason in reasons.go, because
// no test covers its use. Without a reason it must be removed.
package privilege
