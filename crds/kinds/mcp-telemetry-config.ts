import { Type } from 'typebox';
import { Closed, HttpUrl } from '../../gateway/contract/fields.ts';
import { block, flag, mapBy, text } from '../../gateway/contract/optional.ts';
import { caBundleRef, SecretKeyRef } from '../../gateway/contract/references.ts';
import { at, OWN_CREDENTIAL, rule, safeHeaders, safeUrl } from '../../gateway/contract/rule.ts';
import { DEFAULT_SAMPLING_RATE, SAMPLING_RATE_PATTERN } from '../../gateway/contract/run-config/telemetry.ts';
import { HEADER_NAME, headerValues, namedHeaders } from './fields/header-fields.ts';
import { AGE, conditionColumn, defineKind, statusFields, type ObjectOf } from './schema/kind.ts';

interface OpenTelemetry {
  readonly enabled?: boolean;
  readonly endpoint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sensitiveHeaders?: readonly { readonly name: string }[];
  readonly tracing?: { readonly enabled?: boolean };
  readonly metrics?: { readonly enabled?: boolean };
}

const openTelemetry = block('Traces and metrics sent to a collector by OTLP over HTTP.', {
  enabled: flag('Send them.', { default: true }),
  endpoint: Type.Optional(
    HttpUrl(
      'OTLP endpoint of the collector, such as `https://otel.example.com:4318`. `/v1/traces` and `/v1/metrics` are appended.',
      {
        maxLength: 2048,
      },
    ),
  ),
  insecure: flag('Allow an http endpoint.', { default: false }),
  allowPrivateIPs: flag('Allow the endpoint to resolve to a private address, such as that of a Service.', {
    default: false,
  }),
  headers: headerValues('Headers sent to the collector, by name. Everyone who can read this object can read them.'),
  sensitiveHeaders: Type.Optional(
    Type.Array(
      Closed({
        name: Type.String({ ...HEADER_NAME, description: 'Name of the header.' }),
        secretKeyRef: SecretKeyRef('Value of the header.'),
      }),
      { maxItems: 32, description: 'Headers sent to the collector, with values from Secrets.', ...mapBy('name') },
    ),
  ),
  tracing: block('Traces.', {
    enabled: flag('Send traces.', { default: true }),
    samplingRate: text('Share of the traces that are kept, 0 to 1. The decision of a caller is followed.', {
      pattern: SAMPLING_RATE_PATTERN,
      maxLength: 20,
      default: DEFAULT_SAMPLING_RATE,
    }),
  }),
  metrics: block('Metrics.', { enabled: flag('Send metrics.', { default: true }) }),
  resourceAttributes: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 1024 }), {
      maxProperties: 64,
      description: 'Attributes of the resource of all traces and metrics, such as `deployment.environment.name`.',
    }),
  ),
  caBundleRef: caBundleRef(),
  useLegacyAttributes: flag('Also write span attributes under their deprecated names.', { default: true }),
});

/** Destination of traces and metrics, shared by several virtual servers. */
export const MCPTelemetryConfig = defineKind({
  kind: 'MCPTelemetryConfig',
  collection: 'telemetryConfigs',
  role: 'config',
  referencedAs: { fields: ['telemetryConfigRef'] },
  shortNames: ['mcpotel'],
  description: 'Destination of traces and metrics, shared by several virtual servers.',
  spec: Closed(
    {
      openTelemetry,
      prometheus: block('Metrics that Prometheus reads.', { enabled: flag('Serve `/metrics`.', { default: true }) }),
    },
    { description: 'Desired state.' },
  ),
  status: Closed({ ...statusFields, configHash: text('Digest of the spec.') }, { description: 'Observed state.' }),
  rules: at('openTelemetry', [
    rule<OpenTelemetry>('', {
      field: 'endpoint',
      rule: '!self.enabled || has(self.endpoint)',
      message: 'set endpoint, or enabled: false',
      check: ({ enabled, endpoint }) => enabled === false || endpoint !== undefined,
    }),
    rule<OpenTelemetry>('', {
      rule: '!self.enabled || !has(self.tracing) || self.tracing.enabled || !has(self.metrics) || self.metrics.enabled',
      message: 'with tracing and metrics off nothing is sent: set enabled: false instead',
      check: ({ enabled, tracing, metrics }) =>
        enabled === false || tracing?.enabled !== false || metrics?.enabled !== false,
    }),
    safeUrl('', 'endpoint', 'insecure'),
    namedHeaders('headers'),
    safeHeaders('headers', undefined, OWN_CREDENTIAL),
    safeHeaders('sensitiveHeaders', 'name', OWN_CREDENTIAL),
    rule<OpenTelemetry>('', {
      field: 'sensitiveHeaders',
      rule: '!has(self.headers) || !has(self.sensitiveHeaders) || self.sensitiveHeaders.all(h, !(h.name in self.headers))',
      message: 'a header is in headers or in sensitiveHeaders, not in both',
      check: ({ headers = {}, sensitiveHeaders = [] }) =>
        sensitiveHeaders.every(({ name }) => !Object.hasOwn(headers, name)),
    }),
  ]),
  columns: [
    { name: 'Endpoint', type: 'string', jsonPath: '.spec.openTelemetry.endpoint', description: 'OTLP endpoint.' },
    conditionColumn('Valid'),
    { name: 'Tracing', type: 'string', jsonPath: '.spec.openTelemetry.tracing.enabled', description: 'Send traces.' },
    { name: 'Metrics', type: 'string', jsonPath: '.spec.openTelemetry.metrics.enabled', description: 'Send metrics.' },
    AGE,
  ],
});
export type MCPTelemetryConfig = ObjectOf<typeof MCPTelemetryConfig>;
