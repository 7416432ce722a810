// Command root-cas prints the root CA certificates that Mozilla trusts, in PEM.
package main

import (
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		// A file of certificates cannot express a constraint, such as the date after which a CA is not trusted.
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			fmt.Fprintln(os.Stderr, "root-cas:", err)
			os.Exit(1)
		}
	}
}
