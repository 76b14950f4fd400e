// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"maps"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// isSecret reports whether content is that of a Secret.
func isSecret(content map[string]any) bool {
	return content["apiVersion"] == "v1" && content["kind"] == "Secret"
}

// withoutSecretValues returns the record of what was applied with digests in the place of the values if
// a Secret was applied. What may be shown of a Secret is its metadata, and the record is in that. The
// keys stay, because merging removes those that are no longer wanted.
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

// secretTexts returns the values of a Secret in the forms that a hook may have given them: in data, and
// decoded for stringData.
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
