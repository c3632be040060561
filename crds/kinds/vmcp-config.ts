import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../gateway/contract/fields.ts';
import { ATOMIC, block, duration, flag, mapBy, text, textMap, texts, whole } from '../../gateway/contract/optional.ts';
import { NameRef, nameRef } from '../../gateway/contract/references.ts';
import { compositeTools } from './composite-tools.ts';
import { headerNames } from './header-fields.ts';
import { operational } from './operational.ts';
import { rateLimiting } from './rate-limiting.ts';
import { sessionStorage } from './session-storage.ts';
import { toolAnnotations } from './tool-annotations.ts';

const int = (least: number, most = 2147483647) => ({ minimum: least, maximum: most, format: 'int32' });

const toolOverrides = Type.Optional(
  Type.Record(
    Type.String(),
    Closed({
      name: text('Name under which the tool is advertised.', { minLength: 1, maxLength: 128 }),
      description: text('Description under which the tool is advertised.'),
      annotations: toolAnnotations(),
    }),
    { maxProperties: 512, description: 'How tools are advertised, by original name.' },
  ),
);

const aggregation = block('How the tools of all backends become one list.', {
  conflictResolution: Type.Optional(
    Type.Enum(['prefix', 'priority', 'manual', 'none'], {
      default: 'prefix',
      description:
        'Equal tool names: `prefix` puts the backend in front of every name, `priority` lets one backend win, ' +
        '`manual` wants overrides, `none` leaves names and reports conflicts.',
    }),
  ),
  conflictResolutionConfig: block('Details of the strategy.', {
    prefixFormat: text('prefix: put before the name; `{workload}` is the backend.', {
      default: '{workload}_',
      minLength: 1,
      maxLength: 128,
    }),
    priorityOrder: texts('priority: backends, the first wins a name.', { maxItems: 256, ...ATOMIC }),
  }),
  defaultToolVisibility: Type.Optional(
    Type.Enum(['allow', 'deny'], {
      description: '`deny` hides the tools of backends that have no entry in `tools`; `allow` when absent.',
    }),
  ),
  excludeAllTools: flag('Hide every backend tool; composite tools stay.'),
  tools: Type.Optional(
    Type.Array(
      Closed({
        workload: Type.String({ minLength: 1, maxLength: 253, description: 'Backend that the entry is about.' }),
        excludeAll: flag('Hide every tool of this backend.'),
        filter: texts('Advertise these tools only, by original name.', { maxItems: 512, ...ATOMIC }),
        overrides: toolOverrides,
        toolConfigRef: nameRef('A shared tool configuration, in place of `filter` and `overrides`.'),
      }),
      { maxItems: 256, description: 'Rules by backend.', ...mapBy('workload') },
    ),
  ),
});

const audit = block('The audit stream.', {
  enabled: flag('Write audit events.', { default: false }),
  component: text('Component named in each event; the name of the resource when absent.', { maxLength: 253 }),
  eventTypes: texts('Write these types only.', { maxItems: 64, ...ATOMIC }),
  excludeEventTypes: texts('Never write these types; wins over `eventTypes`.', { maxItems: 64, ...ATOMIC }),
  includeRequestData: flag('Write request bodies.', { default: false }),
  includeResponseData: flag('Write response bodies.', { default: false }),
  detectApplicationErrors: flag('Look for `isError` in results.', { default: true }),
  logFile: text('File that events are written to; standard output when absent.', { maxLength: 4096 }),
  maxDataSize: whole('Most bytes of a body that are written.', { default: 1024, ...int(0) }),
  maxDelegationDepth: whole('Most nested `act` claims that are written.', { default: 10, ...int(1) }),
});

const codeMode = block('One tool that runs a script over the other tools.', {
  enabled: flag('Offer it.'),
  parallelMaxConcurrency: whole('Most calls of a script at once.', { default: 10, ...int(1) }),
  stepLimit: whole('Most steps of a script.', { default: 100000, minimum: 1, format: 'int64' }),
  toolCallTimeout: duration('Longest wait for one call.', { default: '30s', maxLength: 64 }),
});

const ratio = (description: string) => text(description, { pattern: '^([0-9]*[.])?[0-9]+$', maxLength: 16 });

const optimizer = block('Tools are found by search instead of listed.', {
  embeddingProvider: Type.Optional(
    Type.Enum(['tei', 'openai'], { default: 'tei', description: 'Protocol of the embedding service.' }),
  ),
  embeddingService: Type.Optional(HttpUrl('URL of the embedding service.', { maxLength: 2048 })),
  embeddingModel: text('Model asked for.', { maxLength: 253 }),
  embeddingHeaders: Type.Optional(
    Type.Record(
      Type.String(),
      Type.String({ pattern: '^[^\\x00-\\x08\\x0A-\\x1F\\x7F]*$', minLength: 1, maxLength: 8192 }),
      { maxProperties: 32, description: 'Headers sent to an `openai` embedding service.' },
    ),
  ),
  embeddingServiceTimeout: duration('Longest wait for the embedding service.', { default: '30s', maxLength: 64 }),
  hybridSearchSemanticRatio: ratio('Weight of meaning against words, 0 to 1; 0.5 when absent.'),
  semanticDistanceThreshold: ratio('Largest distance that is a match, 0 to 2; 1.0 when absent.'),
  maxToolsToReturn: whole('Most tools of one search; 8 when absent.', int(1, 50)),
});

const backends = Type.Optional(
  Type.Array(
    Closed({
      name: Type.String({ minLength: 1, maxLength: 253, description: 'Name.' }),
      transport: Type.Enum(['sse', 'streamable-http'], { description: 'Transport.' }),
      url: HttpUrl('MCP endpoint.', { maxLength: 2048 }),
      type: Type.Optional(Type.Enum(['entry', ''], { description: '`entry`: a remote server.' })),
      caBundlePath: text('PEM bundle.', { maxLength: 4096 }),
      metadata: textMap('Free text by name.', { maxProperties: 64 }),
    }),
    { maxItems: 256, description: 'Written by the operator; a resource cannot set it.', ...mapBy('name') },
  ),
);

/** `spec.config`: how the gateway aggregates and behaves. Closed, so that a misspelt member is refused. */
export const vmcpConfig = () =>
  block('How the gateway aggregates and behaves.', {
    name: text('Same as the name of the resource.', { maxLength: 253 }),
    groupRef: text('Same as `spec.groupRef.name`.', { maxLength: 253 }),
    aggregation,
    operational,
    audit,
    backends,
    codeMode,
    compositeTools,
    compositeToolRefs: Type.Optional(
      Type.Array(NameRef('A shared workflow.'), { maxItems: 64, description: 'Shared workflows.', ...mapBy('name') }),
    ),
    metadata: textMap('Free text by name, shown in `/status`.', { maxProperties: 64 }),
    optimizer,
    passthroughHeaders: headerNames('Like `spec.passthroughHeaders`, which wins.'),
    rateLimiting: rateLimiting(),
    sessionStorage: sessionStorage(),
  });
