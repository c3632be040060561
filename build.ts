import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { KINDS } from './crds/kinds/index.ts';
import { inParts } from './crds/kinds/schema/in-parts.ts';
import type { Kind } from './crds/kinds/schema/kind.ts';
import { AJV_OPTIONS } from './crds/kinds/schema-validator.ts';

/** Marks the modules of the Kubernetes client as free of side effects, so that 16 MB of unused models are left out. */
const unusedModels: Plugin = {
  name: 'unused-models',
  setup(bundle) {
    const client = /node_modules[\\/]@kubernetes[\\/]client-node[\\/]/u;
    // Its imports name files. To resolve each by esbuild would take longer than all the rest.
    bundle.onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ path, importer, resolveDir }) =>
      client.test(importer) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/** Returns the source of a module like crds/kinds/schema-validator.ts, with compiled validators. */
function compiledValidators(): string {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { source: true, esm: true } });
  for (const { kind, schema } of KINDS as readonly Kind[]) ajv.addSchema(inParts(schema), kind);
  const names = KINDS.map(({ kind }) => kind);
  const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, name])));
  return `${code}\nexport const schemaValidator = ({ kind }) => ({ ${names.join(', ')} })[kind];`;
}

/** Replaces the module that compiles the validators of the kinds at run time, which takes 0.4 s of a start. */
const validators: Plugin = {
  name: 'validators',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]crds[\\/]kinds[\\/]schema-validator\.ts$/ }, ({ path }) => ({
      contents: compiledValidators(),
      loader: 'js',
      resolveDir: dirname(path),
    }));
  },
};

/**
 * Replaces the package of the Cedar evaluator by its copy in dist/cedar/. It is CommonJS, and finds its WebAssembly beside itself.
 * Chunks are in dist/ itself, so that the path is the same for all.
 */
const cedar: Plugin = {
  name: 'cedar',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]authorization[\\/]cedar-module\.ts$/ }, () => ({
      contents: "export const CEDAR_MODULE = './cedar/cedar_wasm.cjs';",
      loader: 'js',
    }));
    bundle.onEnd(() => {
      const from = join('node_modules', '@cedar-policy', 'cedar-wasm', 'nodejs');
      cpSync(join(from, 'cedar_wasm.js'), join('dist', 'cedar', 'cedar_wasm.cjs'));
      cpSync(join(from, 'cedar_wasm_bg.wasm'), join('dist', 'cedar', 'cedar_wasm_bg.wasm'));
    });
  },
};

/** Replaces the package of the CEL evaluator by a bundle in dist/cel/, which only configurations with an expression load. */
const cel: Plugin = {
  name: 'cel',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]cloud-sts[\\/]cel-module\.ts$/ }, () => ({
      contents: "export const CEL_MODULE = './cel/cel.cjs';",
      loader: 'js',
    }));
    bundle.onEnd(async () => {
      await build({
        entryPoints: ['@marcbachmann/cel-js'],
        outfile: join('dist', 'cel', 'cel.cjs'),
        bundle: true,
        platform: 'node',
        format: 'cjs',
        legalComments: 'linked',
      });
    });
  },
};

process.stdout.write('building dist/ ...');
const signOfLife = setInterval(() => process.stdout.isTTY && process.stdout.write('.'), 1_000);
/**
 * Bundles the CLI into dist/. The bundle opens a fifth of the files at start, and needs no node_modules to run.
 * It does not check types; `make lint` does.
 */
rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: ['operator/cli/main.ts'],
  outbase: '.',
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  sourcemap: true,
  legalComments: 'linked',
  plugins: [unusedModels, validators, cedar, cel],
  // Its main module is UMD, whose imports esbuild cannot follow.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Native. It is loaded when it is needed, and without it there is no keyring.
  external: ['@napi-rs/keyring'],
  banner: {
    js: "import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);",
  },
});
clearInterval(signOfLife);
process.stdout.write('\n');
