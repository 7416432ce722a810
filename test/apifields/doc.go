// Package apifields tests that a field of the API has an effect or is reported to have none. It walks all fields of the specs of
// HostedCluster and NodePool. Each of them is one of these:
//
//	read       a function in readers uses the Go field; its source is searched for it
//	reported   the condition SupportedFields is False if the field is set; NotActedOn is called with it
//	constant   the CRD permits one value only
//
// A function that only copies the field to another object, or only validates it, is no reader.
package apifields
