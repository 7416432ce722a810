package instancetypes

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// gpusOf counts the GPUs. No instance type mixes makers.
func gpusOf(info *types.GpuInfo) (count int64, maker string) {
	if info == nil {
		return 0, ""
	}
	for _, gpu := range info.Gpus {
		count += int64(aws.ToInt32(gpu.Count))
		maker = strings.ToLower(aws.ToString(gpu.Manufacturer))
	}
	return count, maker
}
