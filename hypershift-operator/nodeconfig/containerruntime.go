package nodeconfig

// containerRuntimeConfig is OpenShift's kind for its container runtime, which is another than ours.
type containerRuntimeConfig struct {
	envelope `json:",inline"`
	Spec     struct {
		// MachineConfigPoolSelector selects nodes where there are no NodePools; here the NodePool does.
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

// readContainerRuntimeConfig takes over what means the same here. The size of logs is kept by the kubelet.
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
