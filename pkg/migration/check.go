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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
)

// Check reports what stands in the way of Switch, and what will be different. It does not write, and does not need the
// server. It returns an error if something stands in the way.
func (m *Migration) Check(ctx context.Context) error {
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	is, next := now.describe()
	m.say("%s", is)
	if now.side == inServer && !now.isInterrupted() {
		m.say("Next: %s", next)
		return m.workloads.sayBeside(ctx, now)
	}
	if err := m.check(ctx, now, false); err != nil {
		return err
	}
	m.say("No problem blocks the migration. Next: %s", next)
	return nil
}

// findBack returns an error if something stands in the way of Back.
func (m *Migration) findBack(ctx context.Context, now *state) error {
	for _, of := range now.definitions {
		if err := of.unfit(); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", of.GetName(), err)
		}
	}
	all, err := m.copier.read(ctx, servedVersion, kinds()...)
	if err != nil {
		return err
	}
	if inline := withInline(all); len(inline) > 0 {
		return fmt.Errorf("these controllers have inline hooks, which Metacontroller does not call, so it would remove "+
			"finalizers without them: %s; replace the hooks with webhooks of version v2", enumerate.First(maxNamed, inline))
	}
	dependents, err := m.dependents(ctx, all)
	if err == nil && len(dependents) > 0 {
		err = errors.New(collected(dependents))
	}
	return err
}

// withInline returns the names of the controllers that have inline hooks.
func withInline(all objects) (found []string) {
	for name, of := range all {
		hooks, _, _ := unstructured.NestedMap(of.Object, "spec", "hooks")
		for _, hook := range hooks {
			if hook, _ := hook.(map[string]any); hook["inline"] != nil {
				found = append(found, name)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// check makes all checks. needsServer says whether the server must already be installed.
func (m *Migration) check(ctx context.Context, now *state, needsServer bool) error {
	c := &check{Migration: m, now: now}
	for _, find := range []func(context.Context) error{c.findHost, c.findDefinitions, c.findOriginal, c.findObjects} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	if err := c.findServer(ctx, needsServer); err != nil {
		return err
	}
	c.report()
	return c.blocked()
}

// severity is the meaning of a finding for the migration.
type severity int

const (
	// informs is for facts.
	informs severity = iota
	// differs is for behavior that differs from Metacontroller.
	differs
	// warns is for facts that a user should look at, but that do not block the migration.
	warns
	// blocks is for problems that must be solved first.
	blocks
)

// check finds what stands in the way of Switch, and what will be different.
type check struct {
	*Migration
	now   *state
	lines [blocks + 1][]string
	// namespaces are those in which Metacontroller runs.
	namespaces []string
}

func (c *check) add(of severity, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !slices.Contains(c.lines[of], line) {
		c.lines[of] = append(c.lines[of], line)
	}
}

// report prints the findings.
func (c *check) report() {
	for of, title := range [...]string{"Found", "Different from Metacontroller", "Warnings", "Problems"} {
		slices.Sort(c.lines[of])
		if len(c.lines[of]) > 0 {
			c.say("%s:\n  %s", title, strings.Join(c.lines[of], "\n  "))
		}
	}
}

// blocked returns an error if something blocks the migration.
func (c *check) blocked() error {
	switch count := len(c.lines[blocks]); count {
	case 0:
		return nil
	case 1:
		return errors.New("one problem blocks the migration: see above")
	default:
		return fmt.Errorf("%d problems block the migration: see above", count)
	}
}

// findHost checks the discovery of the cluster.
func (c *check) findHost(ctx context.Context) error {
	if c.now.leadsHere || !c.now.service.exists() {
		return nil
	}
	if err := c.registrar.discovered(ctx); err != nil {
		c.add(blocks, "%s, so no namespace can be deleted, and kubectl does not find the kinds. kube-apiserver repairs "+
			"it when it creates a new APIService; nothing is lost: kubectl delete apiservice %s", err, apiServiceName)
	}
	return nil
}

// findDefinitions checks the definitions.
func (c *check) findDefinitions(context.Context) error {
	if len(c.now.definitions) == 0 {
		c.add(blocks, "no CustomResourceDefinitions of Metacontroller found, so nothing has to be moved: install the server")
	}
	for _, of := range c.now.definitions {
		if err := of.unfit(); err != nil {
			c.add(blocks, "CustomResourceDefinition %s: %s", of.GetName(), err)
		}
	}
	return nil
}

// findOriginal finds the workloads of Metacontroller.
func (c *check) findOriginal(ctx context.Context) error {
	workloads, err := c.workloads.find(ctx)
	if err != nil {
		return err
	}
	if len(workloads) == 0 && c.config.Original != NoWorkload() {
		c.add(blocks, "no workload of Metacontroller was recognized, by its command or image. Name it by "+
			"--original=deployment/NAMESPACE/NAME or statefulset/NAMESPACE/NAME, or stop it yourself and use --original=none")
	}
	for _, of := range workloads {
		c.namespaces = append(c.namespaces, of.Namespace)
		c.add(informs, "Metacontroller runs as %s, with %s", of.Workload, counted(int(of.replicas), "replica"))
		c.add(informs, "Metacontroller runs with the arguments %s", strings.Join(of.args, " "))
		if c.now.leadsHere && of.replicas > 0 {
			c.add(warns, "Metacontroller runs beside the server, as a client of its API")
		}
	}
	return nil
}

// findServer checks that the server is installed. Unless it is needed, its absence is only a warning.
func (c *check) findServer(ctx context.Context, isNeeded bool) error {
	severity := warns
	if isNeeded {
		severity = blocks
	}
	service, err := c.kube.CoreV1().Services(c.config.Service.Namespace).Get(ctx, c.config.Service.Name,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.add(severity, "the server is not installed: Service %s not found. Install it, without its APIService, before "+
			"migrate switch", c.config.Service)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Service of the server: %w", err)
	}
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	pods, err := c.kube.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector}),
	})
	if err != nil {
		return fmt.Errorf("look for the Pods of the server: %w", err)
	}
	if !slices.ContainsFunc(pods.Items, isReady) {
		c.add(severity, "no Pod of the server is ready, behind the Service %s", c.config.Service)
	}
	return nil
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(of corev1.PodCondition) bool {
		return of.Type == corev1.PodReady && of.Status == corev1.ConditionTrue
	})
}

// findObjects checks all objects.
func (c *check) findObjects(ctx context.Context) error {
	if len(c.lines[blocks]) > 0 {
		return nil // the objects may not be readable
	}
	from := servedVersion
	if c.now.leadsHere {
		from = copyVersion
		for _, of := range c.now.definitions {
			if !registration.Serves(of.Unstructured, copyVersion) {
				c.add(warns, "the objects of the CustomResourceDefinitions cannot be read, because the APIService refers to the "+
					"server: migrate switch makes them readable and checks them")
				return nil
			}
		}
	}
	all, err := c.copier.read(ctx, from, kinds()...)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for name, of := range all {
		counts[of.name]++
		if of.GetDeletionTimestamp() != nil {
			c.add(blocks, "%s is being deleted, and has the finalizers %v: wait until it is gone", name, of.GetFinalizers())
		}
	}
	for _, kind := range kinds() {
		c.add(informs, "%s", counted(counts[kind.name], kind.name))
	}
	dependents, err := c.dependents(ctx, all)
	if err != nil {
		return err
	}
	if len(dependents) > 0 {
		c.add(blocks, "%s", collected(dependents))
	}
	return c.findDifferences(all)
}

func collected(dependents []string) string {
	return "these objects have owners that get new UIDs, so the garbage collector would delete them: " +
		enumerate.First(maxNamed, dependents) + "; remove their metadata.ownerReferences"
}

// findDifferences finds objects that the server refuses, and behavior that differs from Metacontroller.
func (c *check) findDifferences(all objects) error {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return err
	}
	var composites []*v1alpha1.CompositeController
	for name, of := range all {
		typed, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(of.name))
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content(of).Object, typed); err != nil {
			c.add(blocks, "%s: the server cannot read it: %s", name, err)
			continue
		}
		scheme.Default(typed)
		if err := invalid(typed); len(err) > 0 {
			c.add(blocks, "%s: the server does not accept it: %s", name, err.ToAggregate())
		}
		say := func(format string, args ...any) { c.add(differs, "%s: "+format, append([]any{name}, args...)...) }
		switch typed := typed.(type) {
		case *v1alpha1.CompositeController:
			composites = append(composites, typed)
			ofComposite(typed, say)
			if hooks := typed.Spec.Hooks; hooks != nil {
				c.findHosts(typed.Name, hooks.Sync, hooks.Finalize, hooks.Customize)
			}
		case *v1alpha1.DecoratorController:
			ofDecorator(typed, say)
			if hooks := typed.Spec.Hooks; hooks != nil {
				c.findHosts(typed.Name, hooks.Sync, hooks.Finalize, hooks.Customize)
			}
		}
	}
	for name, warning := range admission.SharedParents(composites) {
		c.add(warns, "CompositeController %s: %s", name, warning)
	}
	return nil
}

// findHosts finds hooks of a controller whose host is one word: a Service in the namespace of Metacontroller, which the
// server does not find from another namespace.
func (c *check) findHosts(controller string, hooks ...*v1alpha1.Hook) {
	for _, hook := range hooks {
		if hook == nil || hook.Webhook == nil {
			continue
		}
		host := hook.Webhook.Address().DialedHost()
		if host == "" || host == "localhost" || strings.ContainsAny(host, ".:") {
			continue
		}
		for _, namespace := range c.namespaces {
			if server := c.config.Service.Namespace; namespace != server {
				c.add(warns, "controller %s: the host %q of a hook has no namespace. It is found from %s, where Metacontroller "+
					"runs, and not from %s, where the server runs: write %s.%s", controller, host, namespace, server, host, namespace)
			}
		}
	}
}

// invalid returns the errors for which the server refuses an object.
func invalid(of runtime.Object) field.ErrorList {
	switch of := of.(type) {
	case *v1alpha1.CompositeController:
		return validation.ValidateCompositeController(of)
	case *v1alpha1.DecoratorController:
		return validation.ValidateDecoratorController(of)
	case *v1alpha1.ControllerRevision:
		return validation.ValidateControllerRevision(of)
	}
	return nil
}

// ofComposite says how the behavior of a CompositeController will differ. docs/compatibility.md also lists rare
// differences.
func ofComposite(of *v1alpha1.CompositeController, say func(format string, args ...any)) {
	for _, child := range of.Spec.ChildResources {
		if child.UpdateStrategy.Rolls() {
			say("%s are rolled one by one to the end, also if a rolling update is in progress; Metacontroller stops after the "+
				"first child (Q2)", child.Resource)
			say("the condition Updated of its parents gets a lastTransitionTime, by one write of the status of each")
		}
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Finalize, hooks.Customize, say)
	}
}

// ofDecorator says how the behavior of a DecoratorController will differ.
func ofDecorator(of *v1alpha1.DecoratorController, say func(format string, args ...any)) {
	seen := map[schema.GroupResource]bool{}
	for _, rule := range of.Spec.Resources {
		if seen[rule.GroupResource()] {
			say("%s are listed twice: an object is selected if any of the rules selects it; with Metacontroller only the last "+
				"one counts (Q41)", rule.Resource)
		}
		seen[rule.GroupResource()] = true
	}
	if hooks := of.Spec.Hooks; hooks != nil {
		ofHooks(hooks.Finalize, hooks.Customize, say)
	}
}

func ofHooks(finalize, customize *v1alpha1.Hook, say func(format string, args ...any)) {
	if finalize != nil {
		say("it gets the finalizer %s; when it is deleted, its own finalizer is first removed from its parents (Q13)",
			v1alpha1.DrainFinalizer)
	}
	if customize != nil {
		say("its customize hook is called again when labels or annotations of a parent change (Q26), and parents are " +
			"synced when labels of namespaces change (Q28)")
	}
}

// dependents returns the names of objects whose owner references have the UIDs of some objects. The copies have other
// UIDs, so the garbage collector would delete the dependents.
func (m *Migration) dependents(ctx context.Context, all objects) (found []string, err error) {
	owners := map[types.UID]bool{}
	for _, of := range all {
		owners[of.GetUID()] = true
	}
	lists, err := m.kube.Discovery().ServerPreferredResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discover the types of the cluster: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "delete"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, err
	}
	for resource := range resources {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return m.metadata.Resource(resource).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
			of := item.(*metav1.PartialObjectMetadata)
			if slices.ContainsFunc(of.OwnerReferences, func(owner metav1.OwnerReference) bool { return owners[owner.UID] }) {
				found = append(found, fmt.Sprintf("%s %s", resource.GroupResource(), types.NamespacedName{Namespace: of.Namespace,
					Name: of.Name}))
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.say("cannot look for %s that belong to controllers: %s", resource.GroupResource(), err)
		}
	}
	slices.Sort(found)
	return found, nil
}
