package privilege

import (
	"slices"
	"strings"
)

// Reason is why a holder has rights that no test uses.
type Reason struct {
	Holder string
	Thing  string
	Verbs  []string
	Why    string
}

// reason finds why a holder has a right that it does not use; "" if nobody has said.
func (r Report) reason(holder Holder, right Right) string {
	for _, reason := range r.Reasons {
		if reason.Holder == holder.Name && reason.Thing == right.Thing && slices.Contains(reason.Verbs, right.Verb) {
			return reason.Why
		}
	}
	if to := r.handedOn(holder, right); len(to) > 0 {
		return "handed on to " + strings.Join(to, ", ")
	}
	return ""
}

// handedOn names the other service accounts with a right that the hypershift-operator has too. It makes their roles, and an API
// server lets nobody give away what he does not have.
func (r Report) handedOn(holder Holder, right Right) (to []string) {
	if holder.Name != hypershiftOperator {
		return nil
	}
	for _, other := range r.Holders {
		if other.Name != holder.Name && other.Has(right) {
			to = append(to, other.Name)
		}
	}
	return to
}

// InKubernetes are the reasons for what service accounts may do and no test lets them do.
var InKubernetes = []Reason{}

// InAWS are those for roles.
var InAWS = []Reason{}
