// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// Refresh reads the types in use again every interval, until ctx ends. The types of an aggregated
// API server may change while its APIService does not, and then Follow does not see it.
func (d *Discovery) Refresh(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, version := range d.knownVersions() {
			d.refresh(ctx, version)
		}
	}
}

// knownVersions returns the versions whose types have been read.
func (d *Discovery) knownVersions() []schema.GroupVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.types))
}

// refresh reads the types of a version and compares them with the known ones. If the host does not
// answer, nothing changes.
func (d *Discovery) refresh(ctx context.Context, version schema.GroupVersion) {
	known := d.cached(version)
	types, err := d.readTypes(ctx, version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read the types in use again", "apiVersion", version, "err", err)
		return
	}
	if known != nil && !maps.Equal(known, types) {
		d.groupChanged(version.Group)
	}
}
