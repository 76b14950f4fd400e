// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finish removes the definitions with the objects in them, and the API of the migration. The objects of this server stay, and so
// does everything that they own: whoever looks for them, the garbage collector too, finds them here by their UIDs.
func (m *Migration) Finish(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	switch now.phase() {
	case PhaseFinished:
		if !now.imports.exists() {
			m.say("the migration is finished")
			return nil
		}
	case PhaseRunning:
	case PhaseHeld:
		return errors.New("the controllers of the server are still held: migrate run lets them run")
	case PhaseSwitching:
		return errors.New("the switch is not complete: migrate switch completes it")
	default:
		return errors.New("the server does not serve the API yet: migrate switch does that")
	}
	if len(now.definitions) > 0 {
		if err := m.removeDefinitions(ctx, now); err != nil {
			return err
		}
	}
	if err := m.imports.forget(ctx); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("forget from where objects came: %w", err)
	}
	err = m.dynamic.Resource(apiServices()).Delete(ctx, ImportsAPIService, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the API of the migration: %w", err)
	}
	m.say("removed the API of the migration; the migration is finished")
	return nil
}

// removeDefinitions removes the definitions once everything in them is here.
func (m *Migration) removeDefinitions(ctx context.Context, now *situation) error {
	if err := m.ensureApart(ctx); err != nil {
		return err
	}
	if err := m.verifyObjects(ctx, now); err != nil && !m.config.Force {
		return fmt.Errorf("%w\nmend this, or drop what differs in the definitions with --force", err)
	}
	if err := m.removeFinalizers(ctx); err != nil {
		return err
	}
	for _, kind := range kinds() {
		uid := types.UID("")
		if of, found := now.definitions[kind.resource]; found {
			uid = of.GetUID()
		} else {
			continue
		}
		if err := m.deleteDefinition(ctx, kind, uid); err != nil {
			return err
		}
		m.say("deleted the CustomResourceDefinition %s", kind.definition())
	}
	return nil
}

// removeFinalizers removes the finalizers from the objects in the definitions, which nobody would remove any more. Those of the
// objects of this server stay.
func (m *Migration) removeFinalizers(ctx context.Context) error {
	found, err := m.read(ctx, copyVersion)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	for _, of := range found {
		if len(of.GetFinalizers()) == 0 {
			continue
		}
		group.Go(func() error {
			_, err := m.dynamic.Resource(of.in(copyVersion)).Namespace(of.GetNamespace()).
				Patch(groupCtx, of.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("remove the finalizers of %s in its definition: %w", of, err)
			}
			return nil
		})
	}
	return group.Wait()
}
