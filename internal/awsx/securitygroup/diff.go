package securitygroup

import "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// diff returns what has to be authorized and what has to be revoked.
func diff(want []Rule, have []ingress) (authorize, revoke []ingress) {
	wanted, there := map[key]bool{}, map[key]bool{}
	for _, h := range have {
		there[h.key()] = true
	}
	for _, r := range want {
		w := r.ingress()
		if !wanted[w.key()] && !there[w.key()] {
			authorize = append(authorize, w)
		}
		wanted[w.key()] = true
	}
	for _, h := range have {
		if !wanted[h.key()] {
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
