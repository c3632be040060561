#!/usr/bin/env bash
# sigs.k8s.io/cli-utils v0.37.2 (kstatus, the library by which Helm 4, Flux and kpt wait): if `Reconciling` and `Stalled` are both True, the first of
# them in `status.conditions` decides. Another order of the same conditions turns `InProgress` into `Failed`, although the list is a map by type.
# An object whose controller sorts its conditions by type never counts as failed while it has `Reconciling`: remove it when you set `Stalled`.
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
