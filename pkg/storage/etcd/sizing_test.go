// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import "testing"

func TestHowAVolumeIsDivided(t *testing.T) {
	const mebi, gibi = int64(1 << 20), int64(1 << 30)
	tests := map[string]struct {
		volume, quota, reserve int64
	}{
		"the volume of the manifests":   {2 * gibi, 896 * mebi, 64 * mebi},
		"half of it":                    {1 * gibi, 384 * mebi, 64 * mebi},
		"a small volume":                {256 * mebi, 64 * mebi, 32 * mebi},
		"a tiny volume":                 {64 * mebi, 16 * mebi, 8 * mebi},
		"a volume too small to be used": {16 * mebi, minQuotaBytes, 2 * mebi},
		"the disk of a node":            {500 * gibi, maxQuotaBytes, 64 * mebi},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := sizingFor(test.volume)
			if got.quota != test.quota || got.reserve != test.reserve {
				t.Errorf("quota %d and reserve %d, want %d and %d", got.quota, got.reserve, test.quota, test.reserve)
			}
			if fits := need(got.quota) <= test.volume; fits != (test.volume >= need(minQuotaBytes)) {
				t.Errorf("quota %d needs %d of %d bytes", got.quota, need(got.quota), test.volume)
			}
		})
	}
}
