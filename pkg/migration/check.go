// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
)

// Check says what stands in the way of Switch, and what will be different. It writes nothing, and needs no server. It
// returns an error if something stands in the way.
func (m *Migration) Check(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	is, next := now.describe()
	m.say("%s", is)
	if now.side == inServer && !now.isInterrupted() {
		m.say("Next: %s", next)
		return m.sayBeside(ctx, now)
	}
	if err := m.check(ctx, now, false); err != nil {
		return err
	}
	m.say("Nothing stands in the way. Next: %s", next)
	return nil
}

// check makes all checks. needsServer says that the server must be there.
func (m *Migration) check(ctx context.Context, now *situation, needsServer bool) error {
	found := &findings{}
	for _, find := range []func(context.Context, *situation, *findings) error{m.findHost, m.findDefinitions,
		m.findOriginal, m.findObjects} {
		if err := find(ctx, now, found); err != nil {
			return err
		}
	}
	if err := m.findServer(ctx, found, needsServer); err != nil {
		return err
	}
	m.sayFindings(found)
	return found.blocked()
}

// findHost checks the cluster itself.
func (m *Migration) findHost(ctx context.Context, now *situation, found *findings) error {
	if now.leadsHere || !now.service.exists() {
		return nil
	}
	if err := m.discovered(ctx); err != nil {
		found.add(blocks, "%s, so no namespace can be deleted, and kubectl does not find the kinds. kube-apiserver repairs "+
			"it when it makes a new APIService; nothing is lost: kubectl delete apiservice %s", err, apiServiceName)
	}
	return nil
}

// findDefinitions checks the definitions.
func (m *Migration) findDefinitions(ctx context.Context, now *situation, found *findings) error {
	if len(now.definitions) == 0 {
		found.add(blocks, "there are no CustomResourceDefinitions of Metacontroller, so there is nothing to move: install "+
			"the server")
	}
	for _, of := range now.definitions {
		if err := of.unfit(); err != nil {
			found.add(blocks, "CustomResourceDefinition %s: %s", of.GetName(), err)
		}
	}
	return nil
}

// findOriginal finds what runs Metacontroller.
func (m *Migration) findOriginal(ctx context.Context, now *situation, found *findings) error {
	workloads, err := m.originals(ctx)
	if err != nil {
		return err
	}
	if len(workloads) == 0 && m.config.Original != NoWorkload() {
		found.add(blocks, "no workload of Metacontroller was recognised, by its command or image. Name it by "+
			"--original=deployment/NAMESPACE/NAME or statefulset/NAMESPACE/NAME, or stop it yourself and say --original=none")
	}
	for _, of := range workloads {
		found.add(informs, "Metacontroller runs as %s, with %s", of.Workload, counted(int(of.replicas), "replica"))
		found.add(informs, "Metacontroller runs with the arguments %s", strings.Join(of.args, " "))
		if now.leadsHere && of.replicas > 0 {
			found.add(warns, "Metacontroller runs beside the server, as a client of its API")
		}
	}
	return nil
}

// findServer checks that the server is installed. Unless it is needed, its absence is only a warning.
func (m *Migration) findServer(ctx context.Context, found *findings, isNeeded bool) error {
	severity := warns
	if isNeeded {
		severity = blocks
	}
	service, err := m.kube.CoreV1().Services(m.config.Service.Namespace).Get(ctx, m.config.Service.Name,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found.add(severity, "the server is not installed: there is no Service %s. Install it, without its APIService, "+
			"before migrate switch", m.config.Service)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Service of the server: %w", err)
	}
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	pods, err := m.kube.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}),
	})
	if err != nil {
		return fmt.Errorf("look for the Pods of the server: %w", err)
	}
	if !slices.ContainsFunc(pods.Items, isReady) {
		found.add(severity, "no Pod of the server is ready, behind the Service %s", m.config.Service)
	}
	return nil
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(of corev1.PodCondition) bool {
		return of.Type == corev1.PodReady && of.Status == corev1.ConditionTrue
	})
}

// findObjects checks all objects.
func (m *Migration) findObjects(ctx context.Context, now *situation, found *findings) error {
	if len(found.lines[blocks]) > 0 {
		return nil // the objects may not be readable
	}
	from := servedVersion
	if now.leadsHere {
		from = copyVersion
		for _, of := range now.definitions {
			if !registration.Serves(of.Unstructured, copyVersion) {
				found.add(warns, "the objects of the CustomResourceDefinitions cannot be read, because the APIService leads to "+
					"the server: migrate switch checks them when it has made them readable")
				return nil
			}
		}
	}
	all, err := m.read(ctx, from, kinds()...)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for name, of := range all {
		counts[of.name]++
		if of.GetDeletionTimestamp() != nil {
			found.add(blocks, "%s is being deleted, and has the finalizers %v: wait until it is gone", name, of.GetFinalizers())
		}
	}
	for _, kind := range kinds() {
		found.add(informs, "%s", counted(counts[kind.name], kind.name))
	}
	dependents, err := m.dependents(ctx, all)
	if err != nil {
		return err
	}
	if len(dependents) > 0 {
		found.add(blocks, "%s", collected(dependents))
	}
	return m.findDifferences(all, found)
}

func collected(dependents []string) string {
	return "these belong to the objects by UIDs that copies do not have, so the garbage collector would delete them: " +
		enumerate.First(maxNamed, dependents) + "; take their metadata.ownerReferences off"
}

// findBack returns an error if something stands in the way of Back.
func (m *Migration) findBack(ctx context.Context, now *situation) error {
	for _, of := range now.definitions {
		if err := of.unfit(); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", of.GetName(), err)
		}
	}
	all, err := m.read(ctx, servedVersion, kinds()...)
	if err != nil {
		return err
	}
	dependents, err := m.dependents(ctx, all)
	if err == nil && len(dependents) > 0 {
		err = errors.New(collected(dependents))
	}
	return err
}
