// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Switch has this server serve the API, with its controllers held. The order keeps every moment safe:
//
//  1. Metacontroller has stopped, so that it does not write with what it read from the other side.
//  2. Everything is copied, until nothing changes.
//  3. The APIService is switched by one update. From then on, what users write goes to this server.
//  4. What was written to the definitions between 2 and 3 is copied. Nobody may see the API without it for long, above all not the
//     garbage collector, which reads it anew only after the next step.
//  5. The definitions no longer serve the version. Watches end, and go on here.
//  6. What was still on its way to the definitions is copied.
func (m *Migration) Switch(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	if now.phase() == PhaseFinished || now.phase() == PhaseRunning {
		m.say("the server serves the API already, and its controllers run")
		return nil
	}
	switch {
	case !now.leadsHere():
		err = m.takeOver(ctx, now)
	case now.api.hold() == "": // it was not switched by this program
		err = m.setHold(ctx, true)
	}
	if err != nil {
		return err
	}
	if now.imports.isReturning() {
		if err := m.setReturning(ctx, false); err != nil {
			return err
		}
	}
	return m.completeSwitch(ctx)
}

// takeOver is everything up to the update of the APIService.
func (m *Migration) takeOver(ctx context.Context, now *situation) error {
	if err := m.prepare(ctx, now); err != nil {
		return err
	}
	if err := m.copyUntilQuiet(ctx, true); err != nil { // most of it, while Metacontroller runs
		return err
	}
	if err := m.ensureOriginalStopped(ctx); err != nil {
		return err
	}
	if err := m.copyUntilQuiet(ctx, true); err != nil {
		return err
	}
	began := time.Now()
	if err := m.leadHere(ctx); err != nil {
		return err
	}
	if err := m.until(ctx, "that the server serves the API", m.servedHere); err != nil {
		return err
	}
	m.say("the APIService %s leads to the Service %s, and holds its controllers; the API was served from there after %s", apiServiceName, m.config.Service, spent(began))
	return nil
}

// quietPeriod is how long nothing must have changed in the definitions after they serve the API no longer. Each kube-apiserver follows
// the APIService and the definitions with a delay.
const quietPeriod = 3 * time.Second

// completeSwitch is everything after the update of the APIService.
func (m *Migration) completeSwitch(ctx context.Context) error {
	if err := m.until(ctx, "that the server serves the API", m.servedHere); err != nil {
		return err
	}
	if err := m.addCopyVersions(ctx); err != nil {
		return err
	}
	conflicts := m.copyRest(ctx)
	if err := isOther(conflicts); err != nil {
		return err
	}
	changed, err := m.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, false) })
	if err != nil {
		return err
	}
	if changed {
		m.say("the CustomResourceDefinitions no longer serve %s; clients that watch list anew", servedVersion)
		if err := m.untilCopyVersionIsServed(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(quietPeriod):
		case <-ctx.Done():
			return ctx.Err()
		}
		conflicts = m.copyRest(ctx)
	}
	if err := isOther(conflicts); err != nil {
		return err
	}
	if err := m.untilHeld(ctx); err != nil {
		return errors.Join(conflicts, err)
	}
	if err := m.until(ctx, "that the OpenAPI document of the cluster can be read", m.openAPI); err != nil {
		return errors.Join(conflicts, err)
	}
	return conflicts
}

// isOther returns an error unless it is about conflicts, which do not stop a switch: nobody could solve them before.
func isOther(err error) error {
	if _, ok := errors.AsType[*ConflictError](err); ok {
		return nil
	}
	return err
}

// servedHere returns nil if the cluster serves the API from this server. Resources of definitions have no categories.
func (m *Migration) servedHere(ctx context.Context) error {
	list, err := m.kube.Discovery().ServerResourcesForGroupVersionWithContext(ctx, v1alpha1.SchemeGroupVersion.String())
	if err != nil {
		return err
	}
	for _, kind := range kinds() {
		if !slices.ContainsFunc(list.APIResources, func(of metav1.APIResource) bool {
			return of.Name == kind.resource && slices.Contains(of.Categories, v1alpha1.Category)
		}) {
			return fmt.Errorf("the cluster serves the %s from its definition", kind.resource)
		}
	}
	return nil
}

// untilHeld waits until all controllers of this server have stopped, which their status says.
func (m *Migration) untilHeld(ctx context.Context) error {
	return m.until(ctx, "that all controllers of the server are held", func(ctx context.Context) error {
		controllers, err := m.controllers(ctx)
		if err != nil {
			return err
		}
		for _, of := range controllers {
			if err := stands(of.Unstructured); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
		}
		return nil
	})
}

// openAPI returns nil if the OpenAPI document of the cluster can be read.
func (m *Migration) openAPI(ctx context.Context) error {
	_, err := m.kube.Discovery().RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if apierrors.IsServiceUnavailable(err) {
		return fmt.Errorf("%w; does another definition or APIService serve %s?", err, v1alpha1.SchemeGroupVersion)
	}
	return err
}
