package awscontract

// knownDifferences lists by bed and case where the bed differs from AWS, and why this is accepted.
var knownDifferences = map[string]map[string]string{
	"emulator": {
		"a tag that begins with aws: is refused": "moto takes any tag key; we set no such tag",
		"a CIDR loses its host bits":             "moto keeps the CIDR as given; unit tests on fakeaws have this",
		"the default group cannot be deleted":    "moto deletes it; we never try",
		"another account's bucket is closed":     "moto checks no bucket policy for signed calls; unit tests on fakeaws have this",
	},
}

// differences returns a copy for one bed.
func differences(bed string) map[string]string {
	out := map[string]string{}
	for name, why := range knownDifferences[bed] {
		out[name] = why
	}
	return out
}
