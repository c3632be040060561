import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import { builtinRules } from 'eslint/use-at-your-own-risk';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/** Files that may read the environment, end the process and read the clock. */
const COMPOSITION_ROOTS = ['operator/cli/**', 'gateway/main.ts', 'crds/generate.ts', 'e2e/**'];
const TESTS = ['**/*.test.ts', '**/testdata/**'];
const PURE = [
  'operator/resolve/**',
  'operator/render/**',
  'gateway/vmcp/aggregation/**',
  'gateway/authserver/core/**',
  'gateway/contract/**',
];

/** A second name for the two rules with limits: a rule can have only one severity, and these also warn. */
const soft = {
  rules: {
    'max-lines': builtinRules.get('max-lines'),
    'max-lines-per-function': builtinRules.get('max-lines-per-function'),
  },
};
const lines = (max) => ({ max, skipBlankLines: true, skipComments: true });

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]',
  message: 'Named exports only: a default export has a different name at every import.',
};
const ambient = [
  {
    selector: 'MemberExpression[object.name="process"][property.name="env"]',
    message: 'Take the value as a parameter: only composition roots read the environment (CONTRIBUTING.md).',
  },
  {
    selector: 'CallExpression[callee.object.name="process"][callee.property.name="exit"]',
    message: 'Throw or return: only composition roots end the process (CONTRIBUTING.md).',
  },
  {
    selector:
      'NewExpression[callee.name="Date"][arguments.length=0], MemberExpression[object.name="Date"][property.name="now"]',
    message: 'Take the clock as a parameter: only composition roots read wall time (CONTRIBUTING.md).',
  },
];
const random = [
  {
    selector:
      'MemberExpression[object.name="Math"][property.name="random"], CallExpression[callee.property.name=/^random(Bytes|UUID|Int)$/], CallExpression[callee.name=/^random(Bytes|UUID|Int)$/]',
    message: 'This folder is pure: the same input gives the same bytes. Take the random value as a parameter.',
  },
  {
    selector: 'CallExpression[callee.name=/^set(Timeout|Interval|Immediate)$/]',
    message: 'This folder is pure: no timers. Return the delay and let the caller wait.',
  },
];
/** `describe.concurrent(...)`, `it.concurrent(...)`, and the same with `.each(...)`. */
const CONCURRENT =
  ':matches(CallExpression[callee.property.name="concurrent"], CallExpression[callee.callee.object.property.name="concurrent"])';
const POLL = 'MemberExpression[object.name="expect"][property.name="poll"]';
const TEST = 'CallExpression[callee.name="it"] > ArrowFunctionExpression';
/** The globals of vitest belong to the test that began last. `it.each` passes no context. */
const concurrent = [
  {
    selector: `${CONCURRENT} ${TEST}[params.length=0] ${POLL}, ${CONCURRENT} CallExpression[callee.callee.property.name="each"] > ArrowFunctionExpression ${POLL}, CallExpression[callee.object.name="it"][callee.property.name="concurrent"] ${POLL}, CallExpression[callee.callee.object.property.name="concurrent"][callee.callee.object.object.name="it"] ${POLL}`,
    message:
      'Take `expect` from the context of the test, or use `eventually`: `expect.poll` fails when another test ends.',
  },
  {
    selector: `${CONCURRENT} CallExpression[callee.name=/^onTest(Failed|Finished)$/]`,
    message: 'Use `testScope()` or `printOnFailure()`, which know the test that runs them.',
  },
];

export default defineConfig(
  { ignores: ['dist/', 'node_modules/', '.cache/', '.vmcp/', '**/testdata/**/*.js'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { soft },
    rules: {
      'max-lines': ['error', lines(400)],
      'max-lines-per-function': ['error', lines(60)],
      'soft/max-lines': ['warn', lines(300)],
      'soft/max-lines-per-function': ['warn', lines(40)],
      'no-console': 'error',
      'no-restricted-syntax': ['error', noDefaultExport, ...ambient],
      eqeqeq: ['error', 'always'],
      'object-shorthand': 'error',
      'prefer-template': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // An interface may return a promise although one implementation has nothing to await.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    // Patterns are applied to text of clients: a pattern with quadratic run time lets a client block the event loop.
    // `crds/kinds/patterns.test.ts` applies the same rules to patterns in schemas.
    files: ['gateway/**/*.ts', 'operator/**/*.ts', 'crds/**/*.ts'],
    ignores: TESTS,
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  { files: PURE, rules: { 'no-restricted-syntax': ['error', noDefaultExport, ...ambient, ...random] } },
  { files: COMPOSITION_ROOTS, rules: { 'no-restricted-syntax': ['error', noDefaultExport], 'no-console': 'off' } },
  {
    files: ['e2e/**', ...TESTS],
    rules: {
      '@typescript-eslint/no-deprecated': 'off', // tests use old transports and old SDK classes on purpose
      '@typescript-eslint/no-unsafe-assignment': 'off', // `expect.any` and its siblings are typed any
      '@typescript-eslint/unbound-method': 'off', // factories return objects whose methods do not use `this`
    },
  },
  {
    files: TESTS,
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, ...concurrent],
      'no-console': 'off',
      'max-lines': ['error', lines(600)],
      'max-lines-per-function': 'off',
      'soft/max-lines': 'off',
      'soft/max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  // Some tools and third-party modules need a default export.
  { files: ['*.config.ts', '*.config.js', '**/*.d.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['**/*.js', '**/*.cjs', '**/*.mjs'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', module: 'writable', require: 'readonly' } },
  },
);
