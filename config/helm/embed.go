// Package helm embeds the charts of the hypershift-operator and of its CRDs.
package helm

import "embed"

// Charts are the charts, in the folders hypershift and hypershift-crds.
//
//go:embed all:hypershift all:hypershift-crds
var Charts embed.FS
