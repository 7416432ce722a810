package awsemulator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Package instance reads the facts that the operators report about a machine that does not join.
func TestConsoleAndStatusOfAnInstance(t *testing.T) {
	a := newAccount(t)
	subnet := a.subnet(t, "10.0.0.0/24", 0)
	made, err := a.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet)}},
	})
	must(t, err)
	id := *made.Instances[0].InstanceId

	read := func() string {
		t.Helper()
		text, err := instance.Console(t.Context(), a.ec2, id)
		must(t, err)
		return string(text)
	}
	equal(t, "an instance that has written nothing", read(), "")
	file := filepath.Join(t.TempDir(), "console.log")
	must(t, emulator.SetConsole(t.Context(), id, file))
	equal(t, "an instance that has not started", read(), "")
	const limit = 64 << 10
	must(t, os.WriteFile(file, []byte("lost"+strings.Repeat("x", limit-len("\xff\r\nend"))+"\xff\r\nend"), 0o600))
	if text := read(); len(text) != limit || !strings.HasPrefix(text, "xx") || !strings.HasSuffix(text, "x\xff\r\nend") {
		t.Errorf("%d bytes, from %q to %q", len(text), text[:min(len(text), 8)], text[max(0, len(text)-8):])
	}
	_, err = instance.Console(t.Context(), a.ec2, "i-0123456789abcdef0")
	if err == nil || !strings.Contains(err.Error(), "InvalidInstanceID.NotFound") {
		t.Errorf("an instance that does not exist: %v", err)
	}

	states, err := instance.Statuses(t.Context(), a.ec2, []string{id, "i-0123456789abcdef0"})
	must(t, err)
	if len(states) != 1 || !states[id].Running() || states[id].SystemImpaired || states[id].InstanceImpaired {
		t.Errorf("states %+v", states)
	}
	_, err = a.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	states, err = instance.Statuses(t.Context(), a.ec2, []string{id})
	must(t, err)
	equal(t, "state at the end", states[id].State, "terminated")
}
