/** Module of the Cedar evaluator, a WebAssembly build. `build.ts` replaces this path by that of its copy in `dist/`. */
export const CEDAR_MODULE = '@cedar-policy/cedar-wasm/nodejs';
