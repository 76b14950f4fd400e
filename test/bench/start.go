// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// measureStart measures how soon the API is there with many controllers stored.
func measureStart(ctx context.Context, b *bench) ([]row, error) {
	const controllers = 1000
	err := withWorld(ctx, b, func(w *world) error {
		own := &ours{world: w}
		client := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
		err := parallel(ctx, controllers, func(ctx context.Context, i int) error {
			_, err := client.Create(ctx, own.controller(fmt.Sprintf("bench%d", i), w.hook.url()), metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return err
		}
		for range b.rounds {
			if err := w.settle(ctx); err != nil {
				return err
			}
			var begin time.Time
			err := w.restartServer(ctx, func() error {
				err := w.unavailable(ctx)
				begin = time.Now()
				return err
			})
			if err != nil {
				return err
			}
			b.addTime("start", time.Since(begin))
			b.logf("the API was there after %s", time.Since(begin))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	took := b.median("start")
	return []row{{
		scenario: "server start to APIService Available, with 1,000 CCs stored", figure: "time", ours: milliseconds(took), value: took, bound: 5000,
		verdict: milliseconds(took), must: "≤ 5 s",
	}}, nil
}

// unavailable waits until the host says that the API of our server, which has stopped, is not available.
func (w *world) unavailable(ctx context.Context) error {
	if err := w.env.Server.Registration.Apply(ctx, w.env.Config); err != nil { // so that it looks
		return err
	}
	return poll.Within(ctx, patience, func(ctx context.Context) error {
		if aggregation.Available(ctx, w.env.Config) == nil {
			return errors.New("the host says that the API is available while the server is not there")
		}
		return nil
	})
}
