// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// settled returns where controllers remember which parents are settled; nil if they do not. In the developer's
// mode all parents are synced when a controller starts: the hook is probably another one.
func (c *Config) settled(fence *replicas.Fence) *hosted.Settled {
	if c.Settled == nil {
		return nil
	}
	build := fmt.Sprint(version.Get(), c.Namespace, c.ApplyStrategy, c.ApplyFieldManager)
	return &hosted.Settled{Store: fencedStore{c.Settled, fence}, Build: build, SyncAll: c.SyncAllOnStart || c.DeveloperMode}
}

// fencedStore saves nothing once the Lease is lost: the record may be that of the next replica by then.
type fencedStore struct {
	hosted.SettledStore
	fence *replicas.Fence
}

func (s fencedStore) Save(ctx context.Context, controller types.UID, record []byte) error {
	if err := s.fence.Check(); err != nil {
		return err
	}
	return s.SettledStore.Save(ctx, controller, record)
}
