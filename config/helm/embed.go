// Package helm has the chart of the hypershift-operator.
package helm

import "embed"

// Chart is the chart, in the folder hypershift.
//
//go:embed all:hypershift
var Chart embed.FS
