import { defineConfig, type OxlintOverride } from 'oxlint';

/** Files that may read the environment, end the process and read the clock. */
const COMPOSITION_ROOTS = ['operator/cli/**', 'gateway/process/**', 'crds/generate.ts', 'e2e/**'];
const TESTS = ['**/*.test.ts', '**/testdata/**'];
const PURE = [
  'operator/resolve/**',
  'operator/render/**',
  'gateway/vmcp/aggregation/**',
  'gateway/authserver/core/**',
  'gateway/contract/**',
];

const lines = (max: number) => ({ max, skipBlankLines: true, skipComments: true });

/** With `correctness`, these are the recommended rules of ESLint and the strict rules with types of typescript-eslint. */
const STRICT = [
  'no-array-constructor',
  'no-case-declarations',
  'no-empty',
  'no-fallthrough',
  'no-prototype-builtins',
  'no-regex-spaces',
  'no-unexpected-multiline',
  'no-useless-assignment',
  'no-useless-constructor',
  'no-var',
  'prefer-const',
  'prefer-rest-params',
  'prefer-spread',
  'preserve-caught-error',
  'typescript/no-deprecated',
  'typescript/no-dynamic-delete',
  'typescript/no-empty-object-type',
  'typescript/no-explicit-any',
  'typescript/no-extraneous-class',
  'typescript/no-generated-empty-object-type',
  'typescript/no-invalid-void-type',
  'typescript/no-mixed-enums',
  'typescript/no-namespace',
  'typescript/no-non-null-asserted-nullish-coalescing',
  'typescript/no-non-null-assertion',
  'typescript/no-require-imports',
  'typescript/no-unnecessary-boolean-literal-compare',
  'typescript/no-unnecessary-condition',
  'typescript/no-unnecessary-template-expression',
  'typescript/no-unnecessary-type-arguments',
  'typescript/no-unnecessary-type-assertion',
  'typescript/no-unnecessary-type-constraint',
  'typescript/no-unnecessary-type-conversion',
  'typescript/no-unnecessary-type-parameters',
  'typescript/no-unsafe-argument',
  'typescript/no-unsafe-assignment',
  'typescript/no-unsafe-call',
  'typescript/no-unsafe-enum-comparison',
  'typescript/no-unsafe-function-type',
  'typescript/no-unsafe-member-access',
  'typescript/no-unsafe-return',
  'typescript/only-throw-error',
  'typescript/prefer-literal-enum-member',
  'typescript/prefer-promise-reject-errors',
  'typescript/prefer-reduce-type-parameter',
  'typescript/prefer-return-this-type',
  'typescript/related-getter-setter-pairs',
  'typescript/unified-signatures',
  'typescript/use-unknown-in-catch-callback-variable',
];

const typescript: OxlintOverride = {
  files: ['**/*.ts'],
  rules: {
    ...Object.fromEntries(STRICT.map((rule) => [rule, 'error'] as const)),
    'max-lines': ['error', lines(400)],
    'max-lines-per-function': ['error', lines(60)],
    'vmcp/named-exports': 'error',
    'vmcp/composition-roots': 'error',
    'no-console': 'error',
    eqeqeq: ['error', 'always'],
    'object-shorthand': 'error',
    'prefer-template': 'error',
    'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
    'typescript/consistent-type-imports': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/restrict-plus-operands': [
      'error',
      {
        allowAny: false,
        allowBoolean: false,
        allowNullish: false,
        allowNumberAndString: false,
        allowRegExp: false,
      },
    ],
    'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/require-array-sort-compare': 'off',
    'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
    'no-unused-expressions': 'error',
  },
};

export default defineConfig({
  plugins: ['typescript'],
  jsPlugins: ['./.ci/lint/rules.ts', 'eslint-plugin-regexp'],
  categories: { correctness: 'error' },
  options: { typeAware: true, typeCheck: true, reportUnusedDisableDirectives: 'error' },
  env: { builtin: true, node: true },
  ignorePatterns: ['dist/', 'node_modules/', '.cache/', '.vmcp/', '**/testdata/**/*.js'],
  overrides: [
    typescript,
    {
      // Patterns are applied to text of clients: a pattern with quadratic run time lets a client block the event loop.
      // `crds/kinds/patterns.test.ts` applies the same rules to patterns in schemas.
      files: ['gateway/**/*.ts', 'operator/**/*.ts', 'crds/**/*.ts'],
      excludeFiles: TESTS,
      rules: {
        'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
        'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      },
    },
    // A longer list of parameters asks for a record, such as `Call` (gateway/vmcp/call.ts).
    { files: ['gateway/**/*.ts'], excludeFiles: TESTS, rules: { 'max-params': ['error', { max: 5 }] } },
    { files: PURE, rules: { 'vmcp/pure': 'error' } },
    { files: COMPOSITION_ROOTS, rules: { 'vmcp/composition-roots': 'off', 'no-console': 'off' } },
    {
      files: ['e2e/**', ...TESTS],
      rules: {
        'typescript/no-deprecated': 'off', // tests use old transports and old SDK classes on purpose
        'typescript/no-unsafe-assignment': 'off', // `expect.any` and its siblings are typed any
        'typescript/unbound-method': 'off', // factories return objects whose methods do not use `this`
      },
    },
    {
      files: TESTS,
      rules: {
        'vmcp/composition-roots': 'off',
        'vmcp/pure': 'off',
        'vmcp/concurrent-tests': 'error',
        'no-console': 'off',
        'max-lines': ['error', lines(600)],
        'max-lines-per-function': 'off',
        'typescript/no-non-null-assertion': 'off',
      },
    },
    { files: ['**/*.js', '**/*.cjs', '**/*.mjs'], rules: { 'no-undef': 'error', 'no-useless-assignment': 'error' } },
    // Some tools and third-party modules need a default export.
    { files: ['*.config.ts', '.ci/lint/rules.ts', '**/*.d.ts'], rules: { 'vmcp/named-exports': 'off' } },
  ],
});
