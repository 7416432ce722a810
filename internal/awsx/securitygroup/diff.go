package securitygroup

import "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// diff returns what has to be authorized and what has to be revoked so that got
// has the rules of spec, and those that spec leaves.
func diff(spec Spec, got Group) (authorize, revoke []ingress) {
	wanted, there := map[key]bool{}, map[key]bool{}
	for _, h := range got.ingress {
		there[h.key()] = true
	}
	for _, r := range spec.Rules {
		w := r.ingress(got.ID)
		if !wanted[w.key()] && !there[w.key()] {
			authorize = append(authorize, w)
		}
		wanted[w.key()] = true
	}
	for _, h := range got.ingress {
		if !wanted[h.key()] && (spec.Leave == nil || !spec.Leave(h.foreign)) {
			revoke = append(revoke, h)
		}
	}
	return authorize, revoke
}

func wire(in []ingress) []types.IpPermission {
	var out []types.IpPermission
	for _, i := range in {
		out = append(out, i.wire)
	}
	return out
}
