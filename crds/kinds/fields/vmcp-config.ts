import { Type } from 'typebox';
import { Closed, HttpUrl, Duration } from '../../../gateway/contract/fields.ts';
import {
  ATOMIC,
  block,
  duration,
  flag,
  mapBy,
  text,
  textMap,
  texts,
  whole,
  SET,
} from '../../../gateway/contract/optional.ts';
import { NameRef, nameRef } from '../../../gateway/contract/references.ts';
import { minimum } from '../../../gateway/contract/duration.ts';
import { INSTRUCTIONS_LENGTH, TOOL_NAME_LENGTH } from '../../../gateway/contract/aggregation/aggregation.ts';
import { rateLimitRules, rateLimitSpec } from '../../../gateway/policy/rate-limit/spec.ts';
import { at, HEADER_NAME_PATTERN, rule, safeHeaders, type Rule } from '../../../gateway/contract/rule.ts';
import { AUDIT_DEFAULTS, AUDIT_EVENT_TYPES, onOverflow } from '../../../gateway/contract/run-config/audit.ts';
import { compositeToolRules, compositeTools, toolFilter, toolOverrides } from './tools.ts';
import { headerNames } from './header-fields.ts';
import { sessionStorage } from './stores.ts';
import { LOG_LEVELS } from '../../../gateway/contract/logger.ts';

const int = (least: number, most = 2147483647) => ({ minimum: least, maximum: most, format: 'int32' });

const aggregation = block('Aggregation of the tools of all backends.', {
  conflictResolution: Type.Optional(
    Type.Enum(['prefix', 'priority', 'manual', 'none'], {
      default: 'prefix',
      description:
        'Resolution of equal tool names. `prefix` prepends the backend to every name. `priority` keeps the tool of the ' +
        'backend with the highest priority. `manual` requires overrides. `none` keeps names and reports conflicts.',
    }),
  ),
  conflictResolutionConfig: block('Parameters of the resolution.', {
    prefixFormat: text('Prefix of tool names for `prefix`. `{workload}` is replaced by the backend.', {
      default: '{workload}_',
      minLength: 1,
      maxLength: 128,
    }),
    priorityOrder: texts('Backends by priority for `priority`, the highest first.', { maxItems: 256, ...ATOMIC }),
  }),
  defaultToolVisibility: Type.Optional(
    Type.Enum(['allow', 'deny'], {
      description: '`deny` hides the tools of backends without an entry in `tools`. Defaults to `allow`.',
    }),
  ),
  excludeAllTools: flag('Hide the tools of all backends. Composite tools stay visible.'),
  instructions: block('Instructions of the backends for the model, in `initialize` and `server/discover`.', {
    enabled: flag('Pass them on, each under the name of its backend.', { default: true }),
    maxLength: whole(
      'Maximum number of characters of all of them together. Each backend may use an equal share and what others leave; ' +
        'longer instructions are cut.',
      { ...INSTRUCTIONS_LENGTH, format: 'int32' },
    ),
  }),
  maxToolNameLength: whole(
    'Maximum number of characters of a tool name, for clients and models with a limit, such as 64. The end of a longer name becomes ' +
      '`_` and 8 digits of its SHA-256. Calls and policies may still use the full name. No limit by default.',
    { ...TOOL_NAME_LENGTH, format: 'int32' },
  ),
  portableSchemas: flag(
    'Serve input schemas of tools in the part of JSON Schema that the APIs of all models accept: local `$ref` inlined, arrays with ' +
      'items, one type, no other keywords. Backends get the arguments unchanged, and still check them. Off by default.',
  ),
  tools: Type.Optional(
    Type.Array(
      Closed({
        workload: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the backend.' }),
        excludeAll: flag('Hide every tool of this backend.'),
        filter: toolFilter(ATOMIC),
        overrides: toolOverrides(),
        toolConfigRef: nameRef(
          'MCPToolConfig with more rules. Its filter applies if `filter` is empty, and each of its overrides unless ' +
            '`overrides` has one for the tool. Both precede those of the MCPToolConfig that the MCPServer refers to.',
        ),
      }),
      { maxItems: 256, description: 'Settings for each backend.', ...mapBy('workload') },
    ),
  ),
});

const eventTypes = (description: string) =>
  Type.Optional(Type.Array(Type.Enum([...AUDIT_EVENT_TYPES]), { maxItems: 64, description, ...ATOMIC }));

const audit = block('Audit log.', {
  enabled: flag('Write audit events.', { default: false }),
  component: text('Component in each event. Defaults to the name of the object.', { maxLength: 253 }),
  eventTypes: eventTypes('Event types to write. All types when absent or empty.'),
  excludeEventTypes: eventTypes('Event types to omit. Takes precedence over `eventTypes`.'),
  includeRequestData: flag('Write requests, without values of secret names.', { default: false }),
  includeResponseData: flag('Write responses, without values of secret names.', { default: false }),
  detectApplicationErrors: flag('Tell results with `isError` from successful ones.', { default: true }),
  logFile: text('File for events. Defaults to standard output.', { maxLength: 4096 }),
  maxDataSize: whole('Maximum number of bytes to write of a request or response.', {
    default: AUDIT_DEFAULTS.maxDataSize,
    ...int(0),
  }),
  maxDelegationDepth: whole('Maximum number of nested `act` claims to write.', {
    default: AUDIT_DEFAULTS.maxDelegationDepth,
    ...int(1),
  }),
  onOverflow,
});

const codeMode = block('Tool that runs a script which calls the other tools.', {
  enabled: flag('Offer the tool.'),
  parallelMaxConcurrency: whole('Maximum number of concurrent calls of a script.', { default: 10, ...int(1) }),
  stepLimit: whole('Maximum number of steps of a script.', { default: 100000, minimum: 1, format: 'int64' }),
  toolCallTimeout: duration('Timeout for one call.', { default: '30s', maxLength: 64 }),
});

const ratio = (description: string) => text(description, { pattern: '^([0-9]*[.])?[0-9]+$', maxLength: 16 });

const optimizer = block('Tool search that replaces the list of tools.', {
  embeddingProvider: Type.Optional(
    Type.Enum(['tei', 'openai'], { default: 'tei', description: 'Protocol of the embedding service.' }),
  ),
  embeddingService: Type.Optional(HttpUrl('URL of the embedding service.', { maxLength: 2048 })),
  embeddingModel: text('Embedding model.', { maxLength: 253 }),
  embeddingHeaders: Type.Optional(
    Type.Record(
      Type.String(),
      Type.String({ pattern: '^[^\\x00-\\x08\\x0A-\\x1F\\x7F]*$', minLength: 1, maxLength: 8192 }),
      { maxProperties: 32, description: 'Headers sent to an `openai` embedding service.' },
    ),
  ),
  embeddingServiceTimeout: duration('Timeout for requests to the embedding service.', {
    default: '30s',
    maxLength: 64,
  }),
  hybridSearchSemanticRatio: ratio('Weight of semantic search against keyword search, 0 to 1. Defaults to 0.5.'),
  semanticDistanceThreshold: ratio('Maximum semantic distance of a match, 0 to 2. Defaults to 1.0.'),
  maxToolsToReturn: whole('Maximum number of tools that a search returns. Defaults to 8.', int(1, 50)),
});

const backends = Type.Optional(
  Type.Array(
    Closed({
      name: Type.String({ minLength: 1, maxLength: 253, description: 'Name.' }),
      transport: Type.Enum(['sse', 'streamable-http'], { description: 'Transport of the server.' }),
      url: HttpUrl('MCP endpoint.', { maxLength: 2048 }),
      type: Type.Optional(Type.Enum(['entry', ''], { description: '`entry`: a remote server.' })),
      caBundlePath: text('Path of the PEM certificates.', { maxLength: 4096 }),
      metadata: textMap('Arbitrary text values by name.', { maxProperties: 64 }),
    }),
    { maxItems: 256, description: 'Backends as the operator resolved them. Cannot be set here.', ...mapBy('name') },
  ),
);

/** `spec.config`: behaviour of the gateway. Closed, so that misspelt fields are rejected. */
export const vmcpConfig = () =>
  block('Behaviour of the gateway.', {
    name: text('Must equal the name of the object, if set.', { maxLength: 253 }),
    groupRef: text('Must equal `spec.groupRef.name`, if set.', { maxLength: 253 }),
    aggregation,
    operational,
    audit,
    backends,
    codeMode,
    compositeTools,
    compositeToolRefs: Type.Optional(
      Type.Array(NameRef('A shared workflow.'), {
        maxItems: 64,
        description: 'References to shared workflows.',
        ...mapBy('name'),
      }),
    ),
    metadata: textMap('Arbitrary text values by name, shown in `/status`.', { maxProperties: 64 }),
    olderVersionHeaderClients: texts(
      'Clients, by `clientInfo.name`, whose `MCP-Protocol-Version` may be older than the revision of the body. Other ' +
        'such requests are rejected with `-32020`. The gateway logs a warning for each of these clients.',
      { maxItems: 64, ...ATOMIC },
      { minLength: 1, maxLength: 253 },
    ),
    optimizer,
    passthroughHeaders: headerNames('Like `spec.passthroughHeaders`, which takes precedence.'),
    rateLimiting: Type.Optional(rateLimitSpec),
    sessionStorage: sessionStorage('Rejected: set `spec.sessionStorage`.'),
  });

interface Aggregation {
  readonly conflictResolution?: string;
  readonly conflictResolutionConfig?: { readonly priorityOrder?: readonly string[] };
}

const aggregationRules: Rule[] = [
  rule<Aggregation>('aggregation', {
    field: 'conflictResolutionConfig',
    rule:
      "self.conflictResolution != 'priority' || (has(self.conflictResolutionConfig) && " +
      'has(self.conflictResolutionConfig.priorityOrder) && size(self.conflictResolutionConfig.priorityOrder) > 0)',
    message: 'priorityOrder is required when conflictResolution is priority',
    check: (self) =>
      self.conflictResolution !== 'priority' || (self.conflictResolutionConfig?.priorityOrder ?? []).length > 0,
  }),
];

interface Optimizer {
  readonly embeddingProvider?: string;
  readonly embeddingHeaders?: Readonly<Record<string, string>>;
}

const OWN_HEADERS = ['authorization', 'content-type'];

const optimizerRules: Rule[] = at('optimizer', [
  rule<Optimizer>('', {
    field: 'embeddingHeaders',
    rule: "!has(self.embeddingHeaders) || self.embeddingProvider == 'openai'",
    message: 'set embeddingHeaders only if embeddingProvider is openai',
    check: (self) => self.embeddingHeaders === undefined || self.embeddingProvider === 'openai',
  }),
  rule<Readonly<Record<string, string>>>('embeddingHeaders', {
    rule: `self.all(h, h.matches("${HEADER_NAME_PATTERN}") && !(h.lowerAscii() in ['authorization', 'content-type']))`,
    message: 'embeddingHeaders must be header names other than Authorization and Content-Type',
    check: (self) =>
      Object.keys(self).every(
        (name) => new RegExp(HEADER_NAME_PATTERN).test(name) && !OWN_HEADERS.includes(name.toLowerCase()),
      ),
  }),
  minimum('', 'embeddingServiceTimeout', '1ms'),
]);

const written = (member: string, instead: string): Rule =>
  rule<Readonly<Record<string, unknown>>>('', {
    field: member,
    rule: `!has(self.${member})`,
    message: `${member} cannot be set here, because the operator writes it; ${instead}`,
    check: (self) => self[member] === undefined,
  });

/** Rules of `spec.config`. */
export const vmcpConfigRules = (path: string): Rule[] =>
  at(path, [
    written('backends', 'add servers to the group'),
    written('sessionStorage', 'set spec.sessionStorage'),
    ...aggregationRules,
    ...operationalRules('operational'),
    ...optimizerRules,
    ...rateLimitRules('rateLimiting'),
    ...compositeToolRules('compositeTools'),
    minimum('codeMode', 'toolCallTimeout', '1ms'),
    safeHeaders('passthroughHeaders'),
  ]);

const BRIEF = { maxLength: 64 };
const COUNT = { minimum: 1, maximum: 2147483647, format: 'int32' };

/** Timeouts and failure handling for backends. */
const operational = block('Timeouts and failure handling for backends.', {
  logLevel: Type.Optional(
    Type.Enum([...LOG_LEVELS], { description: 'Lowest level of log lines. Defaults to `info`.' }),
  ),
  timeouts: block('Timeouts.', {
    default: duration('Timeout for a response of a backend.', { default: '30s', ...BRIEF }),
    backendInit: duration('Timeout for opening a backend.', BRIEF),
    perWorkload: Type.Optional(
      Type.Record(Type.String(), Duration('Timeout for this backend. Overrides `default`.', BRIEF), {
        maxProperties: 256,
        description: 'Timeouts for responses of single backends, by name of the backend.',
      }),
    ),
  }),
  failureHandling: block('Handling of failing backends.', {
    healthCheckInterval: duration('Interval between two probes of a backend.', { default: '30s', ...BRIEF }),
    healthCheckTimeout: duration('Timeout for a probe.', { default: '10s', ...BRIEF }),
    unhealthyThreshold: whole('Number of consecutive failed probes after which a backend is unhealthy.', {
      default: 3,
      ...COUNT,
    }),
    statusReportingInterval: duration('Minimum interval between two status reports.', { default: '30s', ...BRIEF }),
    partialFailureMode: Type.Optional(
      Type.Enum(['fail', 'best_effort'], {
        description:
          '`fail`: list requests fail while a backend is unavailable. `best_effort`, the default: they return what is available.',
      }),
    ),
    circuitBreaker: block('Circuit breaker. Calls fail at once while the circuit of a backend is open.', {
      enabled: flag('Enable the circuit breaker.', { default: false }),
      failureThreshold: whole(
        'Number of consecutive failures that open the circuit. Timeouts count only if a second user or a probe fails as well.',
        { default: 5, ...COUNT },
      ),
      timeout: duration('Time until the open circuit lets one trial call through.', { default: '60s', ...BRIEF }),
    }),
  }),
  listChanged: block('Notifications about changed lists.', {
    enabled: flag('Subscribe to notifications of backends. Defaults to true.'),
    disabledWorkloads: texts(
      'Names of backends without a subscription.',
      { maxItems: 256, ...SET },
      { maxLength: 253 },
    ),
  }),
});

/** Rules for timeouts and intervals. With zero the gateway would loop without a pause or reject everything. */
const operationalRules = (path: string): Rule[] =>
  at(path, [
    minimum('timeouts', 'default', '1ms'),
    minimum('timeouts', 'backendInit', '1ms'),
    minimum('failureHandling', 'healthCheckInterval', '100ms'),
    minimum('failureHandling', 'healthCheckTimeout', '1ms'),
    minimum('failureHandling', 'statusReportingInterval', '1s'),
    minimum('failureHandling.circuitBreaker', 'timeout', '1s'),
  ]);
