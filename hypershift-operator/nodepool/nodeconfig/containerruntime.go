package nodeconfig

// containerRuntimeConfig is the kind in which OpenShift configures CRI-O. These nodes run containerd.
type containerRuntimeConfig struct {
	envelope `json:",inline"`
	Spec     struct {
		// MachineConfigPoolSelector selects nodes on OpenShift without NodePools. Here the NodePool selects them.
		MachineConfigPoolSelector any `json:"machineConfigPoolSelector"`
		ContainerRuntimeConfig    struct {
			PidsLimit      any    `json:"pidsLimit"`
			LogLevel       any    `json:"logLevel"`
			LogSizeMax     string `json:"logSizeMax"`
			OverlaySize    any    `json:"overlaySize"`
			DefaultRuntime string `json:"defaultRuntime"`
		} `json:"containerRuntimeConfig"`
	} `json:"spec"`
}

// readContainerRuntimeConfig uses the fields that mean the same for containerd. The kubelet enforces the size of logs.
func readContainerRuntimeConfig(p *parser, m manifest) {
	var crc containerRuntimeConfig
	if err := m.strict(&crc); err != nil {
		p.refuse("%s: %v", m, err)
		return
	}
	c := crc.Spec.ContainerRuntimeConfig
	if c.PidsLimit != nil {
		p.refuse("%s: pidsLimit is not supported: set podPidsLimit, which is for all containers of a pod, in a KubeletConfiguration", m)
	}
	if c.LogLevel != nil {
		p.refuse("%s: logLevel is not supported: remove it", m)
	}
	if c.OverlaySize != nil {
		p.refuse("%s: overlaySize is not supported: limit the ephemeral-storage of pods instead", m)
	}
	if c.DefaultRuntime != "" && c.DefaultRuntime != "runc" {
		p.refuse("%s: defaultRuntime %s is not supported: the machine image has runc; remove the field", m, c.DefaultRuntime)
	}
	if c.LogSizeMax != "" {
		p.kubeletField(m, "containerLogMaxSize", c.LogSizeMax)
	}
}
