// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
	"sigs.k8s.io/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// strictErrorVerbosity is the log level at which hook authors see what was overlooked.
const strictErrorVerbosity = 4

// strictErrors are what a strict reader of an answer objects to and a loose one overlooks:
// fields it does not know, and fields that are there twice.
type strictErrors []error

func (o *strictErrors) unknownField(field string) {
	*o = append(*o, fmt.Errorf("unknown field %q", field))
}
func (o *strictErrors) duplicateField(field string) {
	*o = append(*o, fmt.Errorf("duplicate field %q", field))
}

// findDuplicates looks for names that are there twice in one object, at any depth of the
// value at a path.
func (o *strictErrors) findDuplicates(path string, value []byte) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowInvalidUTF8(true))
	if err := decoder.SkipValue(); !errors.Is(err, jsontext.ErrDuplicateName) {
		return
	}
	var content any // decoded only to learn where in it they are
	if found, err := json.UnmarshalStrict(value, &content, json.DisallowDuplicateFields); err == nil {
		o.addIn(path, found)
	}
}

// addIn adds what was found in the value at a path.
func (o *strictErrors) addIn(path string, found []error) {
	for _, err := range found {
		if field, ok := errors.AsType[json.FieldError](err); ok {
			field.SetFieldPath(path + "." + field.FieldPath())
		}
		*o = append(*o, err)
	}
}

// checkStrict makes oddities an error if the hook's answers are to be read strictly.
func (w *Webhook) checkStrict(ctx context.Context, odd strictErrors) error {
	if len(odd) == 0 {
		return nil
	}
	all := utilerrors.NewAggregate(odd)
	if w.strict() {
		return fmt.Errorf("%w: strict validation failed for %s webhookResponse (type: %s, mode: %s): %w",
			ErrUnreadable, w.version, w.name, w.mode, all)
	}
	klog.FromContext(ctx).V(strictErrorVerbosity).Info("Hook answer has fields that are overlooked", "hook", w.name, "url", w.shown, "fields", all.Error())
	return nil
}

// strict tells whether oddities are errors.
func (w *Webhook) strict() bool { return w.mode == v1alpha1.ResponseUnmarshallModeStrict }

// findsDuplicates tells whether anybody wants to know of oddities that take time to find.
func (w *Webhook) findsDuplicates(ctx context.Context) bool {
	return w.strict() || logsStrictErrors(ctx)
}

// logsStrictErrors tells whether what is overlooked is logged.
func logsStrictErrors(ctx context.Context) bool {
	return klog.FromContext(ctx).V(strictErrorVerbosity).Enabled()
}

// unmarshalMode is how the answers of a hook are read.
func unmarshalMode(hook *v1alpha1.Hook) v1alpha1.ResponseUnmarshallMode {
	switch mode := hook.Webhook.ResponseUnmarshallMode; {
	case mode != nil && *mode != "":
		return *mode
	case hook.GetVersion() == v1alpha1.HookVersionV2:
		return v1alpha1.ResponseUnmarshallModeStrict
	default:
		return v1alpha1.ResponseUnmarshallModeLoose
	}
}
