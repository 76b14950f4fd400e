// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// noHooks returns the error of a controller that has no hook to call.
func noHooks(path *field.Path) *field.Error {
	return field.Required(path, "a sync hook with a webhook is needed: it answers what is to be done for each parent")
}

// hasWebhook reports whether a hook has a webhook, so that it is called.
func hasWebhook(hook *v1alpha1.Hook) bool {
	return hook != nil && hook.Webhook != nil
}

// namedHook is a hook that has a webhook, and its name in the spec.
type namedHook struct {
	name    string
	webhook *v1alpha1.Webhook
}

// namedHooks returns the hooks that have a webhook.
func namedHooks(sync, finalize, customize *v1alpha1.Hook) []namedHook {
	var all []namedHook
	for _, one := range []struct {
		name string
		hook *v1alpha1.Hook
	}{{"sync", sync}, {"finalize", finalize}, {"customize", customize}} {
		if hasWebhook(one.hook) {
			all = append(all, namedHook{one.name, one.hook.Webhook})
		}
	}
	return all
}

// validateHooks checks the hooks that both kinds of controllers have. finalizer is the prefix of
// the finalizer's name.
func validateHooks(sync, finalize, customize *v1alpha1.Hook, finalizer, controller string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !hasWebhook(sync) && !hasWebhook(finalize) {
		errs = append(errs, noHooks(path.Child("sync")))
	}
	errs = append(errs, validateHook(sync, path.Child("sync"))...)
	errs = append(errs, validateFinalizeHook(finalize, finalizer, controller, path.Child("finalize"))...)
	return append(errs, validateHook(customize, path.Child("customize"))...)
}

func validateHook(hook *v1alpha1.Hook, path *field.Path) field.ErrorList {
	errs := validateHookVersion(hook, path)
	if hasWebhook(hook) {
		errs = append(errs, validateWebhook(hook.Webhook, path.Child("webhook"))...)
	}
	return errs
}

// validateFinalizeHook checks the hook that puts a finalizer on objects. The name of the finalizer
// is the prefix and the name of the controller.
func validateFinalizeHook(hook *v1alpha1.Hook, prefix, controller string, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	errs := validateHook(hook, path)
	if hook.Webhook == nil {
		errs = append(errs, field.Required(path.Child("webhook"),
			"says where the hook is: without it nothing could be asked when an object is deleted, so leave out the hook"))
	}
	_, name, _ := strings.Cut(prefix, "/")
	if maxName := maxFinalizerLength - len(name); len(controller) > maxName {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"the finalizer of a controller with such a long name could not be stored: metadata.name may have %d characters at most", maxName)))
	}
	return errs
}

// maxFinalizerLength is the maximum length of a finalizer without its domain.
const maxFinalizerLength = 63

func validateHookVersion(hook *v1alpha1.Hook, path *field.Path) field.ErrorList {
	if hook == nil || hook.Version == nil {
		return nil
	}
	switch *hook.Version {
	case v1alpha1.HookVersionV1, v1alpha1.HookVersionV2:
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("version"), *hook.Version, []v1alpha1.HookVersion{
		v1alpha1.HookVersionV1, v1alpha1.HookVersionV2,
	})}
}

func validateWebhook(webhook *v1alpha1.Webhook, path *field.Path) field.ErrorList {
	errs := validateAddress(webhook, path)
	if webhook.Timeout != nil {
		if _, err := webhook.Timeout.Parse(); err != nil {
			errs = append(errs, field.Invalid(path.Child("timeout"), *webhook.Timeout,
				`must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`))
		}
	}
	if webhook.ResponseUnmarshallMode != nil {
		switch *webhook.ResponseUnmarshallMode {
		case v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict:
		default:
			errs = append(errs, field.NotSupported(path.Child("responseUnMarshallMode"), *webhook.ResponseUnmarshallMode,
				[]v1alpha1.ResponseUnmarshallMode{v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict}))
		}
	}
	settings := webhook.Connection()
	errs = append(errs, validateReferences(settings, path)...)
	return append(errs, validateConnection(settings, path)...)
}
