package privilege

import (
	"path"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Calls reads the emulator's call log, for the calls of holders by their roles. A call that a fault hit counts: it was meant.
func Calls(log []awsemulator.Call, holders []Holder) *Use {
	use := &Use{}
	for _, call := range log {
		for _, holder := range holders {
			if !acts(holder.Name, call.Role) {
				continue
			}
			for _, action := range call.Permissions {
				if r := right(action); holder.Has(r) {
					use.count(holder.Name, r)
				} else {
					use.refuse(Refusal{Holder: holder.Name, Right: r, Message: call.Outcome + " for " + call.Caller})
				}
			}
		}
	}
	return use
}

// acts reports whether a role belongs to a holder. Roles of customers begin with the infraID of their cluster.
func acts(holder, role string) bool {
	switch name := path.Base(role); holder {
	case names.ControlPlaneOperator:
		return strings.HasSuffix(name, "-"+names.ControlPlaneOperator)
	case NodePoolManagement:
		return strings.HasSuffix(name, "-node-pool")
	default:
		return name == holder
	}
}
