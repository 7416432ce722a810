// Package infraid chooses the infraIDs of hosted clusters, and reserves the infraIDs of deleted clusters for the tenants that had them.
//
//	For, Validate   the infraID that a cluster has or will get     infraid.go
//	Reservations    the infraIDs of deleted clusters                 reservation.go
//
// An infraID is also the end of the URL of an issuer. Identity providers in AWS that
// their owner did not delete trust that URL for as long as they exist, so that no
// other tenant may get the infraID after the cluster is deleted.
package infraid
