// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// settled returns where controllers remember which parents are settled; nil if they do not. In the developer's
// mode all parents are synced when a controller starts: the hook is probably another one.
func (c *Config) settled(term *leader.Term) *hosted.Settled {
	if c.Settled == nil {
		return nil
	}
	build := fmt.Sprint(version.Get(), c.Namespace, c.ApplyStrategy, c.ApplyFieldManager)
	return &hosted.Settled{Store: fencedStore{c.Settled, term}, Build: build, SyncAll: c.SyncAllOnStart || c.DeveloperMode}
}

// fencedStore saves nothing once the Lease is lost: the record may be that of the next leader by then.
type fencedStore struct {
	hosted.SettledStore
	term *leader.Term
}

func (s fencedStore) Save(ctx context.Context, controller types.UID, record []byte) error {
	if err := s.term.Check(); err != nil {
		return err
	}
	return s.SettledStore.Save(ctx, controller, record)
}
