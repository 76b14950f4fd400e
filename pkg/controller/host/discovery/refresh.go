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

// Refresh reads the types in use again every interval, until ctx ends. An aggregated
// server may come to serve others without its APIService changing, which Follow
// cannot see.
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

// knownVersions are those of which something is known.
func (d *Discovery) knownVersions() []schema.GroupVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.types))
}

// refresh compares what is known of a version with what the host tells now. A host
// that does not answer changes nothing.
func (d *Discovery) refresh(ctx context.Context, version schema.GroupVersion) {
	known := d.cached(version)
	types, err := d.readTypes(ctx, version)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The types in use cannot be read again", "apiVersion", version, "err", err)
		return
	}
	if known != nil && !maps.Equal(known, types) {
		d.groupChanged(version.Group)
	}
}
