// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// walk returns a copy of a JSON value: each value of a Secret in it is replaced by what ofSecret
// returns, and each other text by what ofText returns. Texts that are JSON themselves, such as an
// annotation with what was last applied, are walked too. Inside of a list of Secrets, the items are
// Secrets whatever their kind.
func walk(value any, isSecret bool, ofSecret func(value string, encoded bool) string, ofText func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		kind := kindOfContent(value)
		isSecret = isSecret || kind == secretKind
		result := make(map[string]any, len(value))
		for name, below := range value {
			if isSecret && isSecretField(name) {
				result[name] = ofData(below, func(text string) string { return ofSecret(text, name == "data") })
			} else {
				result[ofText(name)] = walk(below, kind == secretListKind && name == "items", ofSecret, ofText)
			}
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = walk(item, isSecret, ofSecret, ofText)
		}
		return result
	case string:
		return walkText(value, ofSecret, ofText)
	default:
		return value
	}
}

// walkText is walk for a text.
func walkText(text string, ofSecret func(value string, encoded bool) string, ofText func(string) string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && MentionsSecret([]byte(trimmed)) {
		var content any
		if utiljson.Unmarshal([]byte(trimmed), &content) == nil {
			if walked, err := json.Marshal(walk(content, false, ofSecret, ofText)); err == nil {
				return string(walked)
			}
		}
	}
	return ofText(text)
}

// ofData replaces all texts in the data of a Secret.
func ofData(data any, replace func(string) string) any {
	switch data := data.(type) {
	case string:
		return replace(data)
	case map[string]any:
		result := make(map[string]any, len(data))
		for name, value := range data {
			result[name] = ofData(value, replace)
		}
		return result
	case []any:
		result := make([]any, len(data))
		for i, item := range data {
			result[i] = ofData(item, replace)
		}
		return result
	default:
		return data
	}
}

// kindOfContent returns the kind of an object of the core group, or "". An object without an apiVersion counts as one
// of that group.
func kindOfContent(content map[string]any) string {
	if version, there := content["apiVersion"]; there && version != "v1" {
		return ""
	}
	kind, _ := content["kind"].(string)
	return kind
}
