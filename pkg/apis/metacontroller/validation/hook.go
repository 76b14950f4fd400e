// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// noHooks is the error of a controller that could never call anything.
func noHooks(path *field.Path) *field.Error {
	return field.Required(path, "a sync hook with a webhook is needed: it answers what is to be done for each parent")
}

// calls says whether a hook leads to a webhook.
func calls(hook *metacontroller.Hook) bool {
	return hook != nil && hook.Webhook != nil
}

// namedHook is a hook that leads to a webhook.
type namedHook struct {
	name    string
	webhook *metacontroller.Webhook
}

// called returns those hooks that lead to a webhook.
func called(sync, finalize, customize *metacontroller.Hook) []namedHook {
	var all []namedHook
	for _, one := range []struct {
		name string
		hook *metacontroller.Hook
	}{{"sync", sync}, {"finalize", finalize}, {"customize", customize}} {
		if calls(one.hook) {
			all = append(all, namedHook{one.name, one.hook.Webhook})
		}
	}
	return all
}

func validateHook(hook *metacontroller.Hook, path *field.Path) field.ErrorList {
	errs := validateHookVersion(hook, path)
	if calls(hook) {
		errs = append(errs, validateWebhook(hook.Webhook, path.Child("webhook"))...)
	}
	return errs
}

// validateFinalizeHook checks the hook that holds objects by a finalizer, whose name follows prefix with the controller's.
func validateFinalizeHook(hook *metacontroller.Hook, prefix, controller string, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	errs := validateHook(hook, path)
	if hook.Webhook == nil {
		errs = append(errs, field.Required(path.Child("webhook"),
			"says where the hook is: without it nothing could be asked when an object is deleted, so leave out the hook"))
	}
	if longest := maxFinalizerLength - len(prefix); len(controller) > longest {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"the finalizer of a controller with such a long name could not be stored: metadata.name may have %d characters at most", longest)))
	}
	return errs
}

// maxFinalizerLength is how long a finalizer may be behind its domain.
const maxFinalizerLength = 63

func validateHookVersion(hook *metacontroller.Hook, path *field.Path) field.ErrorList {
	if hook == nil || hook.Version == nil {
		return nil
	}
	switch *hook.Version {
	case metacontroller.HookVersionV1, metacontroller.HookVersionV2:
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("version"), *hook.Version, []metacontroller.HookVersion{
		metacontroller.HookVersionV1, metacontroller.HookVersionV2,
	})}
}

func validateWebhook(webhook *metacontroller.Webhook, path *field.Path) field.ErrorList {
	errs := validateAddress(webhook, path)
	if webhook.Timeout != nil {
		if _, err := webhook.Timeout.Parse(); err != nil {
			errs = append(errs, field.Invalid(path.Child("timeout"), *webhook.Timeout,
				`must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`))
		}
	}
	if etag := webhook.Etag; etag != nil {
		path := path.Child("etag")
		errs = append(errs, validateSeconds(etag.CacheTimeoutSeconds, path.Child("cacheTimeoutSeconds"))...)
		errs = append(errs, validateSeconds(etag.CacheCleanupSeconds, path.Child("cacheCleanupSeconds"))...)
	}
	if webhook.ResponseUnmarshallMode != nil {
		switch *webhook.ResponseUnmarshallMode {
		case metacontroller.ResponseUnmarshallModeLoose, metacontroller.ResponseUnmarshallModeStrict:
		default:
			errs = append(errs, field.NotSupported(path.Child("responseUnMarshallMode"), *webhook.ResponseUnmarshallMode,
				[]metacontroller.ResponseUnmarshallMode{metacontroller.ResponseUnmarshallModeLoose, metacontroller.ResponseUnmarshallModeStrict}))
		}
	}
	settings := webhook.Connection()
	errs = append(errs, validateReferences(settings, path)...)
	return append(errs, validateConnection(settings, path)...)
}

func validateSeconds(seconds *int32, path *field.Path) field.ErrorList {
	if seconds == nil || *seconds >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *seconds, "must not be negative")}
}
