// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"

	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// minHostVersion is the oldest version of Kubernetes that the server extends.
const minHostVersion = "1.30"

// Check says what stands in the way of the migration, what will be different, and what is good to know. It returns a *BlockedError
// if something stands in the way. It changes nothing but that it registers the API of the migration, by which the server is asked.
func (m *Migration) Check(ctx context.Context) error {
	if err := m.ensureRights(ctx); err != nil {
		return err
	}
	if !m.config.DryRun {
		if err := m.ensureImports(ctx); err != nil {
			return err
		}
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	m.sayFindings(found)
	if err := found.blocked(); err != nil {
		return err
	}
	m.say("Nothing stands in the way.")
	return nil
}

// find makes all checks.
func (m *Migration) find(ctx context.Context) (*findings, error) {
	found := &findings{}
	now, err := m.situation(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.findHost(ctx, found); err != nil {
		return nil, err
	}
	if err := m.findDefinitions(ctx, now, found); err != nil {
		return nil, err
	}
	if err := m.findOriginal(ctx, found); err != nil {
		return nil, err
	}
	if len(found.with(blocks)) > 0 {
		return found, nil // the objects may not be readable
	}
	return found, m.findObjects(ctx, now, found)
}

// findHost checks the cluster itself.
func (m *Migration) findHost(ctx context.Context, found *findings) error {
	info, err := m.kube.Discovery().ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("ask the cluster for its version: %w", err)
	}
	if is, err := version.ParseGeneric(info.GitVersion); err == nil && is.LessThan(version.MustParseGeneric(minHostVersion)) {
		found.add(blocks, "cluster", "its version is %s, and the server needs %s", info.GitVersion, minHostVersion)
	}
	if err := m.openAPI(ctx); err != nil {
		found.add(warns, "cluster", "its OpenAPI document cannot be read, now already: %s", err)
	}
	return nil
}

// findDefinitions checks the definitions, and where the APIService leads to.
func (m *Migration) findDefinitions(ctx context.Context, now *situation, found *findings) error {
	if err := now.mayCopy(); err != nil {
		found.add(blocks, "", "%s", err)
	}
	for _, kind := range kinds() {
		of, exists := now.definitions[kind.resource]
		if !exists {
			found.add(informs, "", "there is no CustomResourceDefinition %s", kind.definition())
			continue
		}
		if by := managerOf(of.Unstructured); by != "" {
			found.add(warns, "CustomResourceDefinition "+kind.definition(), "%s manages it: have it leave the definition alone until the migration is finished, for what it removes, it removes with all objects", by)
		}
	}
	list, err := m.dynamic.Resource(definitions()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("read the CustomResourceDefinitions: %w", err)
	}
	for i := range list.Items {
		of := &list.Items[i]
		ours := slices.ContainsFunc(kinds(), func(kind kind) bool { return kind.definition() == of.GetName() })
		if in, _, _ := unstructured.NestedString(of.Object, "spec", "group"); in == group && !ours && (definition{of}).serves(servedVersion) {
			found.add(blocks, "CustomResourceDefinition "+of.GetName(), "it is of the same group and version, and nobody could read its objects any more: it is none of Metacontroller, so move it to another group or version")
		}
	}
	return nil
}

// managerOf returns who says that it manages an object; empty if nobody does.
func managerOf(of *unstructured.Unstructured) string {
	if release := of.GetAnnotations()["meta.helm.sh/release-name"]; release != "" {
		return "the Helm release " + release
	}
	for label, by := range map[string]string{"argocd.argoproj.io/instance": "Argo CD", "kustomize.toolkit.fluxcd.io/name": "Flux", "olm.managed": "the Operator Lifecycle Manager"} {
		if _, found := of.GetLabels()[label]; found {
			return by
		}
	}
	if _, found := of.GetAnnotations()["argocd.argoproj.io/tracking-id"]; found {
		return "Argo CD"
	}
	return ""
}

// findObjects asks the server about each object whether it would take it.
func (m *Migration) findObjects(ctx context.Context, now *situation, found *findings) error {
	from := servedVersion
	if now.leadsHere() {
		from = copyVersion
		for _, of := range now.definitions {
			if !of.serves(copyVersion) {
				found.add(warns, "", "the APIService leads to the server already, and the CustomResourceDefinition %s does not serve %s: migrate switch completes the switch", of.GetName(), copyVersion)
				return nil
			}
		}
	}
	all, err := m.read(ctx, from)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, of := range all {
		counts[of.name]++
	}
	for _, kind := range kinds() {
		found.add(informs, "", "%s", counted(counts[kind.name], kind.name))
	}
	if !now.imports.exists() {
		found.add(warns, "", "the server was not asked about the objects, because the API of the migration is not registered: migrate check does that")
	} else if err := m.findRefused(ctx, now, all, found); err != nil {
		return err
	}
	if m.config.DryRun {
		if err := m.findAuthors(ctx, all, found); err != nil {
			return err
		}
	}
	return m.findDifferences(ctx, all, found)
}

// findRefused has the server take all objects without storing them.
func (m *Migration) findRefused(ctx context.Context, now *situation, all objects, found *findings) error {
	removed, err := m.findOthers(ctx, now, all, found)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	for _, of := range all {
		group.Go(func() error {
			if err := restore(of.Unstructured); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
			_, warnings, err := m.imports.create(groupCtx, of.Unstructured, migration.ImportSpec{Overwrite: !now.leadsHere()}, true)
			mu.Lock()
			defer mu.Unlock()
			for _, text := range warnings {
				found.add(warns, of.String(), "%s", text)
			}
			switch {
			case err == nil:
			case apierrors.IsConflict(err) && slices.Contains(removed, of.String()): // it takes the name of that one
			case isAboutObject(err):
				found.add(blocks, of.String(), "the server does not take it: %s", err)
			default:
				return fmt.Errorf("ask the server about %s: %w", of, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func isAboutObject(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsConflict(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// findOthers finds what the server has and the definitions do not, before the switch. It returns those that a copy removes.
func (m *Migration) findOthers(ctx context.Context, now *situation, all objects, found *findings) (removed []string, err error) {
	if now.leadsHere() {
		return nil, nil
	}
	var others []string
	err = m.imports.list(ctx, func(item *migration.Import) {
		reference := &unstructured.Unstructured{}
		if _, exists := all[types.UID(item.Name)]; exists || reference.UnmarshalJSON(item.Spec.Object.Raw) != nil {
			return
		}
		name := object{kind{name: reference.GetKind()}, reference}.String()
		if imported := item.Status.SourceResourceVersion != ""; imported || m.config.DiscardOthers {
			removed = append(removed, name)
			return
		}
		others = append(others, name)
	})
	if err == nil && len(others) > 0 {
		found.add(blocks, "", "the server has %s that the definitions do not have, and that would come alive: %s; --discard-others has them removed", counted(len(others), "object"), enumerate.First(maxNamed, others))
	}
	return removed, err
}

// findOriginal finds what runs Metacontroller, and whether the server has the flags that it has.
func (m *Migration) findOriginal(ctx context.Context, found *findings) error {
	workloads, err := m.originals(ctx)
	if err != nil {
		return err
	}
	if len(workloads) == 0 {
		found.add(warns, "", "no workload of Metacontroller was found. If it runs elsewhere, name it by --original, or see to it that it has stopped before migrate switch")
	}
	ours, err := m.serverFlags(ctx)
	if err != nil {
		return err
	}
	for _, of := range workloads {
		found.add(informs, "", "Metacontroller runs as %s, with %s", of.Workload, counted(int(of.replicas), "replica"))
		if ours == nil {
			found.add(warns, "", "no workload with flags was found behind the Service %s: see to it that the server has the flags of Metacontroller: %s", m.config.Service, describeFlags(flagsOf(of.args)))
			continue
		}
		theirs := flagsOf(of.args)
		for _, name := range slices.Sorted(maps.Keys(theirs)) {
			if theirs[name] != ours[name] {
				found.add(warns, "server", "it runs with --%s=%q, and Metacontroller with %q%s", name, ours[name], theirs[name], consequence(name))
			}
		}
	}
	return nil
}

// consequence says what it means if a flag differs.
func consequence(flag string) string {
	switch flag {
	case applyFlag:
		return ": children would be moved to the other engine, with one write each"
	case managerFlag:
		return ": children would be written once, to move the ownership of their fields"
	case targetFlag:
		return ": they would not run the same controllers"
	}
	return ""
}

// The flags of Metacontroller that decide what is written, with their defaults.
const (
	applyFlag   = "apply-strategy"
	managerFlag = "apply-strategy-ssa-field-manager"
	targetFlag  = "target-label-selector"
)

func defaultFlags() map[string]string {
	return map[string]string{applyFlag: "dynamic-apply", managerFlag: "metacontroller", targetFlag: ""}
}

// flagsOf reads the flags that decide what is written.
func flagsOf(args []string) map[string]string {
	flags := defaultFlags()
	for i, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if _, known := flags[name]; !known || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		flags[name] = value
	}
	return flags
}

func describeFlags(flags map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		texts = append(texts, fmt.Sprintf("--%s=%s", name, flags[name]))
	}
	return strings.Join(texts, " ")
}

// serverFlags returns the flags of the workload behind the Service; nil if none is found.
func (m *Migration) serverFlags(ctx context.Context) (map[string]string, error) {
	service, err := m.kube.CoreV1().Services(m.config.Service.Namespace).Get(ctx, m.config.Service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Service %s that leads to the server: see --service-name and --service-namespace", m.config.Service)
	}
	if err != nil {
		return nil, fmt.Errorf("read the Service of the server: %w", err)
	}
	if len(service.Spec.Selector) == 0 {
		return nil, nil
	}
	pods, err := m.kube.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector})})
	if err != nil {
		return nil, fmt.Errorf("look for the Pods of the server: %w", err)
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Spec.Containers {
			if len(container.Args) > 0 {
				return flagsOf(container.Args), nil
			}
		}
	}
	return nil, nil
}
