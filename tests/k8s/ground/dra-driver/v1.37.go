// SPDX-License-Identifier: MIT
//go:build v1.37

package main

import (
	"context"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

func (d driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}
