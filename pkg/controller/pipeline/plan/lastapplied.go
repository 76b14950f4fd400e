// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// recordsLastApplied reports whether a child has a readable record of the last applied configuration.
func recordsLastApplied(observed *object.Object) bool {
	text, _ := observed.Annotation(object.LastAppliedAnnotation)
	return readRecord(text) != nil
}

// hasRecord reports whether a child has a record of the last applied configuration, which may be malformed.
func hasRecord(observed *object.Object) bool {
	text, _ := observed.Annotation(object.LastAppliedAnnotation)
	return !isEmptyRecord(text)
}

// readRecord returns the configuration that the text of LastAppliedAnnotation records. It returns nil if the text is
// empty, or if it is not a JSON object because another client changed it.
func readRecord(text string) map[string]any {
	var record map[string]any
	if isEmptyRecord(text) || utiljson.Unmarshal([]byte(text), &record) != nil {
		return nil
	}
	return record
}

// isEmptyRecord reports whether the text of LastAppliedAnnotation records nothing. Somebody may have emptied it.
func isEmptyRecord(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "null" || text == "{}"
}

// takeLastApplied removes LastAppliedAnnotation from have, the content of an observed child, and returns the
// configuration that it records. It replaces digests by the texts that encodeLastApplied shortened, if have or want
// contains these texts. The result is nil if the annotation is missing or empty, or cannot be read: then merging
// removes nothing.
func takeLastApplied(have, want map[string]any) (map[string]any, error) {
	text, found, err := unstructured.NestedString(have, "metadata", "annotations", object.LastAppliedAnnotation)
	if err != nil || !found {
		return nil, err
	}
	unstructured.RemoveNestedField(have, "metadata", "annotations", object.LastAppliedAnnotation)
	last := readRecord(text)
	if last != nil && strings.Contains(text, digestPrefix) {
		last = lengthened(last, have, want)
	}
	return last, nil
}

// setLastApplied records the desired configuration, which may be the content itself, in the LastAppliedAnnotation of a
// child.
func setLastApplied(content, want map[string]any) error {
	text, err := encodeLastApplied(want, content)
	if err != nil {
		child := unstructured.Unstructured{Object: content}
		name := types.NamespacedName{Namespace: child.GetNamespace(), Name: child.GetName()}
		return fmt.Errorf("child %s %s: %w", child.GetKind(), strings.TrimPrefix(name.String(), "/"), err)
	}
	return setAnnotation(content, object.LastAppliedAnnotation, text)
}

// encodeLastApplied returns the text of LastAppliedAnnotation for a child: the applied configuration, with digests in
// the place of a Secret's values. If that exceeds the limit of a host for annotations, digests also replace all long
// texts. Digests suffice, because merging only compares the texts of the last applied configuration.
func encodeLastApplied(applied, child map[string]any) (string, error) {
	others := 0
	metadata, _ := child["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for name, value := range annotations {
		if text, ok := value.(string); ok && name != object.LastAppliedAnnotation {
			others += len(name) + len(text)
		}
	}
	room := validation.TotalAnnotationSizeLimitB - others - len(object.LastAppliedAnnotation)
	encoded, err := object.Canonical(withoutSecretValues(applied, applied))
	if err != nil || len(encoded) <= room {
		return string(encoded), err
	}
	encoded, err = object.Canonical(withoutSecretValues(shortened(applied).(map[string]any), applied))
	if err == nil && len(encoded) > room {
		err = fmt.Errorf("the record of the applied fields, in the annotation %s, takes %d bytes even without long "+
			"texts, its other annotations take %d, and a cluster allows %d for all annotations; to apply it without a "+
			"record, set updateStrategy.apply: ServerSideApply or --apply-strategy=server-side-apply",
			object.LastAppliedAnnotation, len(encoded), others, validation.TotalAnnotationSizeLimitB)
	}
	return string(encoded), err
}

// maxWholeText is the length in bytes up to which shortened keeps a text as it is.
const maxWholeText = 64

// digestPrefix begins the digest of a text.
const digestPrefix = "shortened:"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return digestPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

func isLong(text string) bool {
	return len(text) > maxWholeText || strings.HasPrefix(text, digestPrefix)
}

// shortened returns a copy of a value in which digests replace the long texts.
func shortened(value any) any {
	return mapTexts(value, func(text string) string {
		if isLong(text) {
			return digestOf(text)
		}
		return text
	})
}

// lengthened returns a copy of last in which texts from values replace their digests. A digest
// that remains stands for a string that no value contains, so it differs from all values, as the string itself would.
func lengthened(last map[string]any, values ...map[string]any) map[string]any {
	texts := map[string]string{}
	for _, value := range values {
		mapTexts(value, func(text string) string {
			if isLong(text) {
				texts[digestOf(text)] = text
			}
			return text
		})
		for _, text := range secretTexts(value) {
			texts[digestOf(text)] = text
		}
	}
	return mapTexts(last, func(text string) string {
		if whole, known := texts[text]; known {
			return whole
		}
		return text
	}).(map[string]any)
}

// mapTexts returns a copy of a value with each text in it replaced.
func mapTexts(value any, replace func(string) string) any {
	switch value := value.(type) {
	case string:
		return replace(value)
	case map[string]any:
		result := maps.Clone(value)
		for name, below := range value {
			result[name] = mapTexts(below, replace)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = mapTexts(item, replace)
		}
		return result
	default:
		return value
	}
}

// isSecret reports whether content is the content of a Secret.
func isSecret(content map[string]any) bool {
	return content["apiVersion"] == "v1" && content["kind"] == "Secret"
}

// withoutSecretValues returns the record of the applied configuration, with digests in the place of the values of a
// Secret. The record is in the metadata, which users without access to the values may see. The keys stay, because
// merging removes keys that are no longer wanted.
func withoutSecretValues(record, applied map[string]any) map[string]any {
	if !isSecret(applied) {
		return record
	}
	record = maps.Clone(record)
	for _, field := range redact.Fields() {
		if values, there := applied[field]; there {
			record[field] = mapTexts(values, digestOf)
		}
	}
	return record
}

// secretTexts returns the values of a Secret in both forms that a hook may use: as in data, and decoded as in
// stringData.
func secretTexts(content map[string]any) (texts []string) {
	if !isSecret(content) {
		return nil
	}
	for _, field := range redact.Fields() {
		mapTexts(content[field], func(text string) string {
			texts = append(texts, text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
				texts = append(texts, string(decoded))
			}
			return text
		})
	}
	return texts
}
