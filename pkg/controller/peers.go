// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "context"

// Replica returns the name of this replica; empty if there are no others.
func (h *Handle) Replica(ctx context.Context) (name string, err error) {
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		name = l.dependencies.Replica
		return nil
	})
	return name, err
}

// Peers returns the addresses of the other replicas, by name. Those of earlier versions have none.
func (h *Handle) Peers(ctx context.Context) (addresses map[string]string, err error) {
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		if l.membership != nil {
			addresses = l.membership.Peers()
		}
		return nil
	})
	return addresses, err
}
