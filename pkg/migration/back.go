// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Back has the definitions serve the API again, with the objects of this server. It can be called at any time after Copy, also
// when the definitions are gone. The order is that of Switch, the other way round:
//
//  1. The controllers of this server stand still, and say so.
//  2. Everything is written into the definitions, until nothing changes.
//  3. The definitions serve the version again, and the APIService is switched by one update.
//  4. What was written to this server meanwhile is written into the definitions.
func (m *Migration) Back(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	switch now.phase() {
	case PhaseNothing, PhaseForeign:
		return now.mayCopy()
	case PhaseOriginal:
		m.say("the CustomResourceDefinitions serve the API")
		return m.startOriginal(ctx)
	case PhaseSwitching, PhaseHeld, PhaseRunning, PhaseFinished:
		if err := m.giveBack(ctx); err != nil {
			return err
		}
	}
	if now, err = m.situation(ctx); err != nil {
		return err
	}
	if now.imports.isReturning() {
		conflicts := m.exportRest(ctx)
		if err := isOther(conflicts); err != nil {
			return err
		}
		if err := m.setReturning(ctx, false); err != nil {
			return errors.Join(conflicts, err)
		}
		return errors.Join(conflicts, m.clean(ctx))
	}
	return m.clean(ctx)
}

// giveBack is everything up to the end of the switch.
func (m *Migration) giveBack(ctx context.Context) error {
	if err := m.ensureOriginalStopped(ctx); err != nil {
		return err
	}
	if err := m.ensureImports(ctx); err != nil {
		return err
	}
	if err := m.untilDeleted(ctx, kinds()...); err != nil {
		return err
	}
	if err := m.addCopyVersions(ctx); err != nil {
		return err
	}
	if err := m.ensureNothingCollected(ctx); err != nil {
		return err
	}
	if err := m.setHold(ctx, true); err != nil {
		return err
	}
	if err := m.untilHeld(ctx); err != nil {
		return err
	}
	m.say("all controllers of the server stand still")
	if err := m.ensureDefinitions(ctx); err != nil {
		return err
	}
	if err := m.addCopyVersions(ctx); err != nil {
		return err
	}
	if err := m.setReturning(ctx, true); err != nil {
		return err
	}
	if err := m.exportUntilQuiet(ctx, everything); err != nil {
		return err
	}
	if err := m.ensureVersionsRise(ctx); err != nil {
		return err
	}
	if _, err := m.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, true) }); err != nil {
		return err
	}
	began := time.Now()
	if err := m.leadBack(ctx); err != nil {
		return err
	}
	if err := m.until(ctx, "that the definitions serve the API", m.servedThere); err != nil {
		return err
	}
	m.say("the APIService %s leads to the CustomResourceDefinitions; they served the API after %s", apiServiceName, spent(began))
	return nil
}

// servedThere returns nil if the definitions serve the API.
func (m *Migration) servedThere(ctx context.Context) error {
	if m.servedHere(ctx) == nil {
		return errors.New("the server still serves it")
	}
	for _, kind := range kinds() {
		if _, err := m.dynamic.Resource(kind.in(servedVersion)).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
	}
	return nil
}

// exportRest writes into the definitions what was still on its way to this server when the APIService was switched. It returns a
// *ConflictError about what was changed on both sides.
func (m *Migration) exportRest(ctx context.Context) error {
	if err := m.until(ctx, "that the definitions serve the API", m.servedThere); err != nil {
		return err
	}
	if err := isOther(m.exportUntilQuiet(ctx, sinceExported)); err != nil {
		return err
	}
	select {
	case <-time.After(quietPeriod):
	case <-ctx.Done():
		return ctx.Err()
	}
	return m.exportUntilQuiet(ctx, sinceExported)
}

// clean removes what the migration made in the cluster, once the definitions serve the API.
func (m *Migration) clean(ctx context.Context) error {
	if _, err := m.changeDefinitions(ctx, definition.removeCopyVersion); err != nil {
		return err
	}
	err := m.dynamic.Resource(apiServices()).Delete(ctx, ImportsAPIService, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the API of the migration: %w", err)
	}
	m.say("removed the version %s and the API of the migration: the CustomResourceDefinitions serve the API as before", copyVersion)
	return m.startOriginal(ctx)
}
