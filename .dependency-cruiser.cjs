/** Import rules of CONTRIBUTING.md ("Who may import whom"). Tests may import more than the code that they test. */
const TEST = '\\.test\\.ts$|/testdata/';
/** Folders of variants, one file each, and of rules for delegation. The operator reads their `spec`, `resolve` and problems. */
const VARIANTS = '^gateway/(outgoing|incoming|policy|authserver/(upstream|storage|trust))/';
/** Validator of rendered configurations: pure, used by the operator and by gateways. */
const READER = '^gateway/read-gateway-config\\.ts$';
/** Classes of addresses: pure, used to check URLs of resources and to connect. */
const ADDRESSES = '^gateway/outbound/address-class\\.ts$';
/** Proxies and CAs of the environment: the command line sets them for the process, and the operator hands them on. */
const PROXIES = '^gateway/outbound/(use-proxies|certificates|proxy/(proxies|proxy-error))\\.ts$';
/** Connection to an API server, used by the operator and by gateways in pods. */
const KUBE = '^gateway/kube/';
/** Table of MCP clients and edits of their configuration files: pure, used by the command line and by gateways. */
const CLIENTS = '^gateway/management/clients/(?!(operations|registrations)\\.ts$)';
/** Files of users, written atomically: used by the command line and by the management API. */
const USER_FILES = '^gateway/management/state/(user-file|write-files)\\.ts$';
/** Mechanisms that every room shares: time, tasks, files, caches, parts of a server. */
const KIT = '^gateway/kit/';
/** Shapes of Kubernetes objects. */
const KUBE_SHAPES = '^gateway/kube/resource\\.ts$';
/** Packages that use the network, the disk or a cluster. */
const EFFECTS =
  '(^|node_modules/)(express|undici|ioredis|@kubernetes/client-node|winston|prom-client|openid-client)(/|$)';
const EFFECTFUL_BUILTINS =
  '^(node:)?(fs|fs/promises|net|tls|http|https|http2|dns|dns/promises|child_process|worker_threads|cluster|timers|timers/promises|os|readline)$';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'A cycle hides which file owns what.',
      from: {},
      to: { circular: true },
    },
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
      comment: 'The gateway follows its configuration: the gateway image contains no operator code.',
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
      comment:
        'crds/ imports gateway/contract and the specs of the variants. The generators also read the operations of the management API and the fields of audit events.',
      from: { path: '^crds/', pathNot: TEST },
      to: {
        path: '^(gateway|operator|e2e)/',
        pathNot: `^gateway/contract/|^gateway/audit/event\\.ts$|^gateway/management/(frame/openapi|operations?)\\.ts$|${VARIANTS}`,
      },
    },
    {
      name: 'operator-imports-of-gateway',
      severity: 'error',
      comment:
        'From gateway/ the operator imports contract/, kit/, the variant folders, workloads/, kube/ and the configuration reader.',
      from: { path: '^operator/', pathNot: `^operator/cli/|${TEST}` },
      to: {
        path: '^gateway/',
        pathNot: `^gateway/(contract|workloads)/|${KIT}|${CLIENTS}|${KUBE}|${READER}|${ADDRESSES}|${VARIANTS}`,
      },
    },
    {
      name: 'cli-starts-the-gateway',
      severity: 'error',
      comment:
        'Only operator/cli may start a gateway (gateway/process/gateway.ts, the errors of its listener, its log), set the proxies of the process, receive the redirect of a login, read the arguments of a call as it does, and check files and keys before that.',
      from: { path: '^operator/cli/', pathNot: TEST },
      to: {
        path: '^gateway/',
        pathNot: `^gateway/(contract|workloads)/|^gateway/(process/gateway|listener|config-files|telemetry/log|http/(redirect-listener|known-members))\\.ts$|^gateway/(authserver/keys|private-keys)/|${PROXIES}|${KIT}|${CLIENTS}|${USER_FILES}|${KUBE}|${READER}|${VARIANTS}`,
      },
    },
    {
      name: 'operator-imports-kinds-only',
      severity: 'error',
      comment: 'Only crds/kinds is a library. The generators beside it are tools.',
      from: { path: '^(operator|gateway)/', pathNot: TEST },
      to: { path: '^crds/', pathNot: '^crds/kinds/' },
    },
    {
      name: 'pure-core-imports',
      severity: 'error',
      comment:
        'resolve/, render/ and status/ are pure: they import kinds, gateway/contract, the variants and each other.',
      from: { path: '^operator/(resolve|render|status)/', pathNot: TEST },
      to: {
        path: '^(gateway|operator|crds|e2e)/',
        pathNot: `^operator/(resolve|render|status)/|^crds/kinds/|^gateway/contract/|^gateway/workloads/([^/]+|container/options)\\.ts$|${KUBE_SHAPES}|${READER}|${ADDRESSES}|${VARIANTS}`,
      },
    },
    {
      name: 'pure-core-has-no-effects',
      severity: 'error',
      comment:
        'resolve/, render/, status/, aggregation/, the clients and the address classes are pure: no disk, no network, no cluster, no logger.',
      from: {
        path: `^(operator/(resolve|render|status)|gateway/(vmcp/aggregation|authserver/core))/|${CLIENTS}|${ADDRESSES}`,
        pathNot: TEST,
      },
      to: { path: `${EFFECTS}|${EFFECTFUL_BUILTINS}` },
    },
    {
      name: 'outgoing-variant-stands-alone',
      severity: 'error',
      comment:
        'A strategy imports gateway/contract, gateway/kit, gateway/private-keys and its own folder; it gets network, time and stores as `deps`.',
      from: { path: '^gateway/outgoing/', pathNot: TEST },
      to: { path: '^(gateway|operator|crds)/', pathNot: '^gateway/(contract|kit|private-keys|outgoing)/' },
    },
    {
      name: 'policy-stands-alone',
      severity: 'error',
      comment: 'A policy imports gateway/contract, gateway/kit and its own folder; it gets time and stores as `deps`.',
      from: { path: '^gateway/policy/', pathNot: TEST },
      to: { path: '^(gateway|operator|crds)/', pathNot: '^gateway/(contract|kit|policy)/' },
    },
    {
      name: 'key-value-store-behind-its-variant',
      severity: 'error',
      comment: 'Only the variant storage/kvstore.ts imports storage/kvstore/.',
      from: { path: '^(gateway|operator|crds)/', pathNot: `^gateway/authserver/storage/kvstore(/|\\.ts$)|${TEST}` },
      to: { path: '^gateway/authserver/storage/kvstore/' },
    },
    {
      name: 'mcp-sdk-in-one-folder',
      severity: 'error',
      comment:
        'Only gateway/vmcp/ (servers), operator/cli/client/ (the client of vmcp tools and call) and tests import @modelcontextprotocol/*, so that an upgrade changes one folder of each.',
      from: { path: '^(gateway|operator|crds)/', pathNot: `^gateway/vmcp/|^operator/cli/client/|${TEST}` },
      to: { path: '(^|node_modules/)@modelcontextprotocol/' },
    },
    {
      name: 'nothing-imports-e2e',
      severity: 'error',
      comment: 'e2e/ is not part of the product. Unit tests may use its harness.',
      from: { path: '^(gateway|operator|crds)/', pathNot: TEST },
      to: { path: '^e2e/' },
    },
    {
      name: 'no-dev-dependency-in-the-product',
      severity: 'error',
      comment: 'The image does not install development dependencies, so its code cannot import them.',
      from: { path: '^(gateway|operator|crds/kinds)/', pathNot: TEST },
      to: { dependencyTypes: ['npm-dev'], pathNot: '^node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|\\.cache|e2e/(api-clients|interop/clients)/programs)/' }, // programs with packages of their own
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
