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

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// encodeLastApplied is the record of what was applied, the text of LastAppliedAnnotation in a child that is
// stored with it. It is all of what was applied if that fits into what a host allows
// annotations. Else long texts are replaced by their digests: merging compares texts and never
// takes one out of the record.
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
	record, err := object.Canonical(applied)
	if err != nil || len(record) <= room {
		return string(record), err
	}
	record, err = object.Canonical(shortened(applied).(map[string]any))
	if err == nil && len(record) > room {
		err = fmt.Errorf("the record of what was applied, in the annotation %s, takes %d bytes even without long texts, its other annotations take %d, and a cluster allows %d for all; "+
			"have it applied without a record, by updateStrategy.apply: ServerSideApply or --apply-strategy=server-side-apply",
			object.LastAppliedAnnotation, len(record), others, validation.TotalAnnotationSizeLimitB)
	}
	return string(record), err
}

// maxWholeText is how long, in bytes, a text may be that a shortened record still has as it is.
const maxWholeText = 64

// digestPrefix begins what stands for a text in a shortened record.
const digestPrefix = "shortened:"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return digestPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

func isLong(text string) bool {
	return len(text) > maxWholeText || strings.HasPrefix(text, digestPrefix)
}

// shortened is a value with the digests of its long texts in their place.
func shortened(value any) any {
	return mapTexts(value, func(text string) string {
		if isLong(text) {
			return digestOf(text)
		}
		return text
	})
}

// lengthened is a record with those texts back that are in one of the values. A digest that
// is left is that of a text that none of them has, and equals as little of what they have.
func lengthened(record map[string]any, values ...map[string]any) map[string]any {
	texts := map[string]string{}
	for _, value := range values {
		mapTexts(value, func(text string) string {
			if isLong(text) {
				texts[digestOf(text)] = text
			}
			return text
		})
	}
	return mapTexts(record, func(text string) string {
		if whole, known := texts[text]; known {
			return whole
		}
		return text
	}).(map[string]any)
}

// mapTexts copies a value with each text in it replaced.
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
