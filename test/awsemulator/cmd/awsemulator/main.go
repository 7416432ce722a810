// The awsemulator command runs an AWS emulator until it is interrupted, and prints the
// environment in which any AWS client talks to it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func main() {
	port := flag.Int("port", 5555, "the port to listen on; 0 takes a free one")
	account := flag.String("account", awsemulator.ManagementAccount, "the account whose environment is printed; any twelve digits are an account")
	region := flag.String("region", "us-east-1", "the region of that environment")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *port, *account, *region); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, port int, account, region string) error {
	emulator, err := awsemulator.Start(ctx, awsemulator.Options{Port: port, Region: region})
	if err != nil {
		return err
	}
	defer emulator.Stop()
	for _, variable := range emulator.Env(account) {
		fmt.Println("export " + variable)
	}
	fmt.Fprintf(os.Stderr, "calls: curl %[1]s/emulator/calls   resources: curl %[1]s/emulator/accounts   Ctrl-C ends it\n", emulator.URL)
	<-ctx.Done()
	return nil
}
