// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
)

// Release lets the controllers of this server run. Metacontroller must not run the same ones.
func (m *Migration) Release(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	switch now.phase() {
	case PhaseHeld:
		if err := m.release(ctx, now); err != nil {
			return err
		}
	case PhaseRunning, PhaseFinished:
	case PhaseSwitching:
		return errors.New("the switch is not complete: migrate switch completes it")
	default:
		return errors.New("the server does not serve the API yet: migrate switch does that")
	}
	err = m.until(ctx, "the start of all controllers", func(ctx context.Context) error {
		list, err := m.notRunning(ctx, func(of object) error { return isReleased(of.Unstructured) })
		if err == nil && len(list) > 0 {
			err = errors.New(list[0])
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.sayNotReady(ctx)
}

// release removes what holds the controllers, if everything is as it should be.
func (m *Migration) release(ctx context.Context, now *situation) error {
	if err := m.ensureApart(ctx); err != nil {
		return err
	}
	if err := m.verifyObjects(ctx, now); err != nil && !m.config.Force {
		return fmt.Errorf("%w\nmend this, or let the controllers run all the same with --force", err)
	}
	if err := m.setHold(ctx, false); err != nil {
		return err
	}
	m.say("removed the annotation that held the controllers of the server")
	return nil
}

// sayNotReady lists the controllers that are not ready.
func (m *Migration) sayNotReady(ctx context.Context) error {
	without := 0
	list, err := m.notRunning(ctx, func(of object) error {
		err := runs(of.Unstructured)
		if errors.Is(err, errNotRun) {
			without++
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if without > 0 {
		m.say("%s without the condition Ready: the server's --target-label-selector does not match them, or it has not come to them yet", counted(without, "controller"))
	}
	if len(list) == 0 {
		if without == 0 {
			m.say("all controllers are ready")
		}
		return nil
	}
	m.say("not ready: %s", counted(len(list), "controller"))
	for _, text := range list[:min(len(list), maxNamed)] {
		m.say("  %s", text)
	}
	if more := len(list) - maxNamed; more > 0 {
		m.say("  and %d more: kubectl get cc,dec -o wide", more)
	}
	return nil
}

// notRunning returns the controllers that a check finds something about, with that.
func (m *Migration) notRunning(ctx context.Context, check func(object) error) (list []string, err error) {
	controllers, err := m.controllers(ctx)
	if err != nil {
		return nil, err
	}
	for _, of := range controllers {
		if err := check(of); err != nil {
			list = append(list, fmt.Sprintf("%s: %s", of, err))
		}
	}
	return list, nil
}
