/** Who may import whom: the table of folders in CONTRIBUTING.md, checked. Tests may reach further than the code they test. */
const TEST = '\\.test\\.ts$|/testdata/';
/** Folders of variants: one idea, one file; the operator reads their `spec` and `resolve`. */
const VARIANTS = '^gateway/(outgoing|incoming|policy|authserver/(upstream|storage))/';
/** The validator of rendered configurations: pure, and the same for who writes them and who reads them. */
const READER = '^gateway/read-gateway-config\\.ts$';
/** What an address is: pure, and the same for who judges URLs of resources and who dials. */
const ADDRESSES = '^gateway/outbound/address-class\\.ts$';
/** The connection to an API server: the operator's, and that of gateways in pods. */
const KUBE = '^gateway/kube/';
/** Shapes of Kubernetes objects. */
const KUBE_SHAPES = '^gateway/kube/resource\\.ts$';
/** What reaches the network, the disk or a cluster. */
const EFFECTS =
  '(^|node_modules/)(express|undici|ioredis|@kubernetes/client-node|winston|prom-client|openid-client)(/|$)';
const EFFECTFUL_BUILTINS =
  '^(node:)?(fs|fs/promises|net|tls|http|https|http2|dns|dns/promises|child_process|worker_threads|cluster|timers|timers/promises|os|readline)$';

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', comment: 'A cycle hides who owns what.', from: {}, to: { circular: true } },
    {
      name: 'resolvable',
      severity: 'error',
      comment: 'An import that does not resolve fails at start.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'gateway-never-operator',
      severity: 'error',
      comment: 'The operator decides, the gateway obeys: the image of the data plane holds no operator code.',
      from: { path: '^gateway/' },
      to: { path: '^operator/' },
    },
    {
      name: 'contract-is-a-leaf',
      severity: 'error',
      comment: 'gateway/contract imports typebox and itself, nothing else.',
      from: { path: '^gateway/contract/', pathNot: TEST },
      to: { pathNot: '^gateway/contract/|(^|node_modules/)typebox(/|$)' },
    },
    {
      name: 'kinds-import-contract-and-variant-specs',
      severity: 'error',
      comment: 'crds/ imports gateway/contract and the specs of the variants.',
      from: { path: '^crds/', pathNot: TEST },
      to: { path: '^(gateway|operator|e2e)/', pathNot: `^gateway/contract/|${VARIANTS}` },
    },
    {
      name: 'operator-imports-of-gateway',
      severity: 'error',
      comment:
        'Of gateway/ the operator imports contract/, the variant folders, workloads/, kube/ and the reader of configurations.',
      from: { path: '^operator/', pathNot: `^operator/cli/|${TEST}` },
      to: { path: '^gateway/', pathNot: `^gateway/(contract|workloads)/|${KUBE}|${READER}|${ADDRESSES}|${VARIANTS}` },
    },
    {
      name: 'cli-starts-the-gateway',
      severity: 'error',
      comment:
        'operator/cli alone may start a gateway: gateway/main.ts, the errors of its listener, its log; and judge key files ahead of it. Nothing else of it.',
      from: { path: '^operator/cli/', pathNot: TEST },
      to: {
        path: '^gateway/',
        pathNot: `^gateway/(contract|workloads)/|^gateway/(main|listener|telemetry/log)\\.ts$|^gateway/authserver/keys/|${KUBE}|${READER}|${VARIANTS}`,
      },
    },
    {
      name: 'operator-imports-kinds-only',
      severity: 'error',
      comment: 'The generator and its writers are a tool, not a library.',
      from: { path: '^(operator|gateway)/', pathNot: TEST },
      to: { path: '^crds/', pathNot: '^crds/kinds/' },
    },
    {
      name: 'pure-core-imports',
      severity: 'error',
      comment: 'resolve/, render/ and status/ are pure: they see kinds, the contract, the variants and each other.',
      from: { path: '^operator/(resolve|render|status)/', pathNot: TEST },
      to: {
        path: '^(gateway|operator|crds|e2e)/',
        pathNot: `^operator/(resolve|render|status)/|^crds/kinds/|^gateway/contract/|^gateway/workloads/[^/]+\\.ts$|${KUBE_SHAPES}|${READER}|${ADDRESSES}|${VARIANTS}`,
      },
    },
    {
      name: 'pure-core-has-no-effects',
      severity: 'error',
      comment:
        'resolve/, render/, status/, aggregation/ and the classes of addresses are data in, data out: no disk, no network, no cluster, no logger.',
      from: {
        path: `^(operator/(resolve|render|status)|gateway/(vmcp/aggregation|authserver/core))/|${ADDRESSES}`,
        pathNot: TEST,
      },
      to: { path: `${EFFECTS}|${EFFECTFUL_BUILTINS}` },
    },
    {
      name: 'outgoing-variant-stands-alone',
      severity: 'error',
      comment: 'A strategy imports the contract and its own folder; network, time and stores come in as `deps`.',
      from: { path: '^gateway/outgoing/', pathNot: TEST },
      to: { path: '^(gateway|operator|crds)/', pathNot: '^gateway/(contract|outgoing)/' },
    },
    {
      name: 'policy-stands-alone',
      severity: 'error',
      comment: 'A policy imports the contract and its own folder; time and stores come in as `deps`.',
      from: { path: '^gateway/policy/', pathNot: TEST },
      to: { path: '^(gateway|operator|crds)/', pathNot: '^gateway/(contract|policy)/' },
    },
    {
      name: 'mcp-sdk-in-one-folder',
      severity: 'error',
      comment:
        '@modelcontextprotocol/* is imported in gateway/vmcp/ and in tests, so that a move stays one folder wide.',
      from: { path: '^(gateway|operator|crds)/', pathNot: `^gateway/vmcp/|${TEST}` },
      to: { path: '(^|node_modules/)@modelcontextprotocol/' },
    },
    {
      name: 'nothing-imports-e2e',
      severity: 'error',
      comment: 'e2e/ is outside of the product. Unit tests may use its harness.',
      from: { path: '^(gateway|operator|crds)/', pathNot: TEST },
      to: { path: '^e2e/' },
    },
    {
      name: 'no-dev-dependency-in-the-product',
      severity: 'error',
      comment: 'What the image does not install cannot be imported by what the image runs.',
      from: { path: '^(gateway|operator|crds/kinds)/', pathNot: TEST },
      to: { dependencyTypes: ['npm-dev'], pathNot: '^node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|\\.cache)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
