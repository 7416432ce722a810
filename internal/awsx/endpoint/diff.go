package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// diff returns the next change that turns got into spec, or nil for none. Subnets
// and groups come first. isSetting is true for a change that does not touch them.
func diff(spec Spec, got Endpoint) (change *ec2.ModifyVpcEndpointInput, isSetting bool) {
	if change = awsx.Diff(connectivity, spec, got); change == nil {
		change, isSetting = awsx.Diff(settings, spec, got), true
	}
	if change == nil {
		return nil, false
	}
	change.VpcEndpointId = &got.ID
	return change, isSetting
}

// repairSubnets follows the rule of AWS that an endpoint has one subnet in a zone.
// It does not remove a zone that works before the zones that can be added are
// there, and moves one zone at a time from its old subnet to its new one, so that
// the others keep serving: add free zones, then free one zone for its new subnet,
// then remove the rest.
func repairSubnets(spec Spec, got Endpoint, change *ec2.ModifyVpcEndpointInput) {
	var blocked []string // subnets in the zone of a new one
	for _, id := range minus(spec.Subnets, got.Subnets) {
		old := slices.IndexFunc(got.Subnets, func(has string) bool { return spec.ZoneOf[has] == spec.ZoneOf[id] })
		if old < 0 {
			change.AddSubnetIds = append(change.AddSubnetIds, id)
			continue
		}
		blocked = append(blocked, got.Subnets[old])
	}
	switch {
	case len(change.AddSubnetIds) > 0:
	case len(blocked) > 0:
		change.RemoveSubnetIds = blocked[:1]
	default:
		change.RemoveSubnetIds = minus(got.Subnets, spec.Subnets)
	}
}

// describe describes a change for users.
func describe(change *ec2.ModifyVpcEndpointInput) string {
	var out []string
	for _, part := range []struct {
		what string
		ids  []string
	}{
		{"added", change.AddSubnetIds}, {"removed", change.RemoveSubnetIds},
		{"added", change.AddSecurityGroupIds}, {"removed", change.RemoveSecurityGroupIds},
	} {
		if len(part.ids) > 0 {
			out = append(out, part.what+" "+strings.Join(part.ids, ", "))
		}
	}
	if change.ResetPolicy != nil {
		out = append(out, "policy reset to full access")
	}
	if change.PrivateDnsEnabled != nil {
		out = append(out, "private DNS disabled")
	}
	if change.IpAddressType != "" {
		out = append(out, "IP address type set to "+string(change.IpAddressType))
	}
	return strings.Join(out, "; ")
}

func minus(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// token makes creating the endpoint twice harmless. The same attempt, repeated
// after a crash or a lost answer, uses the same token. Everything that may
// differ is in it: EC2 refuses a known token with other parameters, and returns
// the old endpoint, deleted or not, for a known token with the same parameters.
func token(spec Spec) string {
	spec.ZoneOf = nil
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err) // strings, and lists and maps of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:tokenLength]
}

// tokenLength is within the 64 characters that EC2 takes.
const tokenLength = 32
