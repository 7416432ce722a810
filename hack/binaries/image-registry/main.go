// Command image-registry is the registry of the project distribution without its drivers for other clouds, which take most of the time of a build.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/s3-aws" // registers the driver
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1)
	}
}
