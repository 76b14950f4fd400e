// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// CompositeControllerWarnings returns what is likely a mistake in a valid CompositeController, for its author to read.
func CompositeControllerWarnings(controller *metacontroller.CompositeController) []string {
	hooks, path := controller.Spec.Hooks, field.NewPath("spec", "hooks")
	if hooks == nil {
		return nil
	}
	warnings := hookWarnings(hooks.Sync, hooks.Finalize, hooks.Customize, path)
	if hooks.PreUpdateChild != nil {
		warnings = append(warnings, path.Child("preUpdateChild").String()+": is never called")
	}
	if hooks.PostUpdateChild != nil {
		warnings = append(warnings, path.Child("postUpdateChild").String()+": is never called")
	}
	return warnings
}

// DecoratorControllerWarnings returns what is likely a mistake in a valid DecoratorController, for its author to read.
func DecoratorControllerWarnings(controller *metacontroller.DecoratorController) []string {
	var warnings []string
	if len(controller.Spec.Resources) == 0 {
		warnings = append(warnings, "spec.resources: is empty, so that nothing is decorated")
	}
	if hooks := controller.Spec.Hooks; hooks != nil {
		warnings = append(warnings, hookWarnings(hooks.Sync, hooks.Finalize, hooks.Customize, field.NewPath("spec", "hooks"))...)
	}
	return warnings
}

func hookWarnings(sync, finalize, customize *metacontroller.Hook, path *field.Path) []string {
	var warnings []string
	if !calls(sync) {
		warnings = append(warnings, path.Child("sync").String()+": has no webhook, so that only deletion is handled")
	}
	for _, hook := range []struct {
		name string
		hook *metacontroller.Hook
	}{{"sync", sync}, {"finalize", finalize}, {"customize", customize}} {
		if calls(hook.hook) && hook.hook.Webhook.URL != nil && hook.hook.Webhook.Service != nil {
			warnings = append(warnings, path.Child(hook.name, "webhook", "service").String()+": has no effect beside url")
		}
		if calls(hook.hook) && hook.hook.Webhook.URL == nil && isHTTPSOnPort80(hook.hook.Webhook.Service) {
			warnings = append(warnings, path.Child(hook.name, "webhook", "service", "port").String()+": is 80, as if it is not given, and https is rarely served there")
		}
	}
	return warnings
}

func isHTTPSOnPort80(service *metacontroller.ServiceReference) bool {
	return service != nil && service.Protocol != nil && strings.EqualFold(*service.Protocol, "https") &&
		(service.Port == nil || *service.Port == 80)
}
