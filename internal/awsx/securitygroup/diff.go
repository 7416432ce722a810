package securitygroup

import "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// diff returns the rules to authorize and the rules to revoke so that got
// contains the rules of spec, and the rules that spec leaves.
func diff(spec Spec, got Group) (authorize, revoke []ingress) {
	wanted, exists := map[key]bool{}, map[key]bool{}
	for _, h := range got.ingress {
		exists[h.key()] = true
	}
	for _, r := range spec.Rules {
		w := r.ingress(got.ID)
		if !wanted[w.key()] && !exists[w.key()] {
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
