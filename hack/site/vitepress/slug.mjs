// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

/** Returns the anchor of a heading, as GitHub makes it, so that the same links work there and on the site. */
export function slug(heading) {
  return heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}
