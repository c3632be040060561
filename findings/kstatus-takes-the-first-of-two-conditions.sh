#!/usr/bin/env bash
# sigs.k8s.io/cli-utils v0.37.2 (kstatus, by which Helm 4, Flux and kpt wait): of `Reconciling` and `Stalled`, both True, the one that stands first in
# `status.conditions` decides. The same conditions in another order turn "wait" into "has failed", although the list is a map by type. A controller
# that sorts its conditions by type never fails while it also reports `Reconciling`: it must remove one when it sets the other.
#
# Seen: Reconciling, Stalled: InProgress
#       Stalled, Reconciling: Failed
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding
go 1.24
require (
	k8s.io/apimachinery v0.31.3
	sigs.k8s.io/cli-utils v0.37.2
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func condition(kind string) any {
	return map[string]any{"type": kind, "status": "True", "reason": "Any", "message": "any"}
}

func main() {
	for _, order := range [][]string{{"Reconciling", "Stalled"}, {"Stalled", "Reconciling"}} {
		object := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Any",
			"metadata": map[string]any{"name": "any", "generation": int64(1)},
			"status": map[string]any{
				"observedGeneration": int64(1),
				"conditions":         []any{condition(order[0]), condition(order[1])},
			},
		}
		result, err := status.Compute(&unstructured.Unstructured{Object: object})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s, %s: %s\n", order[0], order[1], result.Status)
	}
}
GO
go mod tidy >/dev/null 2>&1
go run . | tee seen
printf '%s\n' 'Reconciling, Stalled: InProgress' 'Stalled, Reconciling: Failed' | diff - seen
