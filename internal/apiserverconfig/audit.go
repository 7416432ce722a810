package apiserverconfig

import (
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
)

// CheckAuditProfile returns an error for a profile that does not exist. An empty one is the default.
func CheckAuditProfile(profile configv1.AuditProfileType) error {
	if slices.Contains([]configv1.AuditProfileType{
		"", configv1.DefaultAuditProfileType, configv1.WriteRequestBodiesAuditProfileType, configv1.AllRequestBodiesAuditProfileType, configv1.NoneAuditProfileType,
	}, profile) {
		return nil
	}
	return fmt.Errorf("configuration.apiServer.audit has profile %q: use Default, WriteRequestBodies, AllRequestBodies or None", profile)
}
