/** Module of the CEL evaluator. `build.ts` replaces this name by the path of its copy in `dist/`. */
export const CEL_MODULE = '@marcbachmann/cel-js';
