package systemd

// supported are the supported keys, and those that may be ignored: a machine has one boot without targets, and its
// network is ready before the first unit starts.
var supported = map[string]bool{
	"Unit.Description": true,
	"Unit.Wants":       true,
	"Unit.Requires":    true,
	"Unit.After":       true,

	"Service.Type":            true,
	"Service.RemainAfterExit": true,
	"Service.Environment":     true,
	"Service.EnvironmentFile": true,
	"Service.ExecStartPre":    true,
	"Service.ExecStart":       true,
	"Service.Restart":         true,
	"Service.RestartSec":      true,

	"Socket.ExecStartPre": true,
	"Socket.ListenStream": true,

	"Path.PathExists": true,

	"Timer.OnActiveSec":        true,
	"Timer.OnUnitActiveSec":    true,
	"Timer.RandomizedDelaySec": true,
	"Timer.Unit":               true,

	"Install.WantedBy": true,
}
