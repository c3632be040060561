import { telemetryProblems, type TelemetryConfig } from '../../gateway/contract/run-config/telemetry.ts';
import { isEncrypted } from '../../gateway/contract/rule.ts';
import { checkUrl, checkUserUrl } from './addresses.ts';
import { bundleFile } from './config-maps.ts';
import { checkReferences } from './references.ts';
import type { ObjectScope, Report, Scope } from './scope.ts';
import type { MCPTelemetryConfig, MCPWebhookConfig } from './snapshot.ts';
import type { AuditConfig } from '../../gateway/contract/run-config/audit.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { VariantScope } from '../../gateway/contract/variant.ts';
import { mutatingWebhooks } from '../../gateway/policy/webhook/mutating.ts';
import { validatingWebhooks } from '../../gateway/policy/webhook/validating.ts';

const PATH = 'spec.openTelemetry';

/** Resolves the MCPTelemetryConfig of a virtual server; undefined without one, as its reference reports. */
export function resolveTelemetry(scope: Scope): TelemetryConfig | undefined {
  const ref = scope.vmcp.spec.telemetryConfigRef;
  const shared = ref && scope.snapshot.telemetryConfigs.get(ref.name);
  if (!shared) return undefined;
  const config = checkTelemetryConfig(shared, scope);
  const { serviceName } = ref;
  return serviceName === undefined ? config : { ...config, serviceName };
}

/** Resolves an MCPTelemetryConfig, and reports its problems. */
export function checkTelemetryConfig(shared: MCPTelemetryConfig, scope: ObjectScope): TelemetryConfig {
  const report = scope.on(shared);
  checkReferences(shared, scope, report);
  const { openTelemetry: otlp, prometheus } = shared.spec;
  const path = prometheus && { enableMetricsPath: prometheus.enabled !== false };
  if (otlp?.enabled === false || otlp?.endpoint === undefined) return { ...path };
  const { endpoint, tracing, metrics, headers, sensitiveHeaders = [], resourceAttributes } = otlp;
  const bundle = bundleFile(otlp.caBundleRef, `${PATH}.caBundleRef`, scope, report);
  const files = sensitiveHeaders.map(
    ({ name, secretKeyRef: secret }) => [name, scope.mount('Secret', secret.name, secret.key)] as const,
  );
  const config: TelemetryConfig = {
    endpoint,
    tracingEnabled: tracing?.enabled !== false,
    metricsEnabled: metrics?.enabled !== false,
    useLegacyAttributes: otlp.useLegacyAttributes !== false,
    ...(tracing?.samplingRate !== undefined && { samplingRate: tracing.samplingRate }),
    ...(otlp.insecure === true && { insecure: true }),
    ...(otlp.allowPrivateIPs === true && { allowPrivateIP: true }),
    ...(headers && { headers }),
    ...(files.length > 0 && { headerFiles: Object.fromEntries(files) }),
    ...(bundle !== undefined && { caCertPath: bundle }),
    ...(resourceAttributes && { customAttributes: resourceAttributes }),
    ...path,
  };
  checkEndpoint(config, scope, report);
  for (const { reason, path: place, message } of telemetryProblems(config)) {
    if (place !== 'telemetry_config.endpoint') report.problem(reason, placeOf(place), message);
  }
  return config;
}

function checkEndpoint(config: TelemetryConfig, scope: ObjectScope, report: Report): void {
  const { endpoint = '', insecure, allowPrivateIP, headers, headerFiles } = config;
  const rules = {
    mode: scope.platform.mode,
    allowPrivate: allowPrivateIP === true,
    allowHttp: insecure === true,
    privateFlag: `${PATH}.allowPrivateIPs`,
    httpFlag: `${PATH}.insecure`,
  };
  const path = `${PATH}.endpoint`;
  const url = checkUrl(endpoint, path, rules, report);
  if (!url) return;
  if (url.search !== '') {
    report.problem('InvalidUrl', path, 'the paths of OTLP are appended to it: remove the ? and the text after it');
  }
  if (isEncrypted(endpoint) || !(headers ?? headerFiles)) return;
  const message = 'the headers are sent here unencrypted, so anyone on the network path can read them: use https';
  report.warning('UnencryptedUrl', path, message);
}

/** Returns the path in an MCPTelemetryConfig for one in its configuration. */
const placeOf = (path: string): string =>
  path
    .replace('telemetry_config.samplingRate', `${PATH}.tracing.samplingRate`)
    .replace(/^telemetry_config\.headerFiles\..*$/su, `${PATH}.sensitiveHeaders`)
    .replace('telemetry_config', PATH);

/** Resolves the audit settings; undefined while they are off. Warns about settings that have no effect. */
export function resolveAudit(scope: Scope): AuditConfig | undefined {
  const { audit } = scope.vmcp.spec.config ?? {};
  if (audit === undefined) return undefined;
  const report = scope.on(scope.vmcp);
  if (audit.enabled !== true) {
    const isSet = Object.keys(audit).some((member) => SETTINGS.has(member));
    if (isSet)
      report.warning(
        'NoEffect',
        'spec.config.audit',
        'the audit log is off: set enabled: true, or remove its settings',
      );
    return undefined;
  }
  const { component, eventTypes, excludeEventTypes, ...others } = audit;
  return {
    ...others,
    ...(component && { component }),
    ...(eventTypes && eventTypes.length > 0 && { eventTypes }),
    ...(excludeEventTypes && excludeEventTypes.length > 0 && { excludeEventTypes }),
  };
}

/** Settings without a default: the others may stand there because the API server has written them. */
const SETTINGS: ReadonlySet<string> = new Set(['component', 'eventTypes', 'excludeEventTypes', 'logFile']);

type Webhooks = Pick<GatewayConfig, 'mutating_webhooks' | 'validating_webhooks'>;

/** Resolves the webhooks that a virtual server refers to; an empty list when the config is missing, as its reference reports. */
export function resolveWebhooks(scope: Scope): Webhooks {
  const ref = scope.vmcp.spec.webhookConfigRef;
  const config = ref && scope.snapshot.webhookConfigs.get(ref.name);
  return config ? webhooksOf(config, scope) : {};
}

/** Checks an MCPWebhookConfig independently of the servers that use it. */
export function checkWebhooks(config: MCPWebhookConfig, scope: ObjectScope): void {
  webhooksOf(config, scope);
}

function webhooksOf(config: MCPWebhookConfig, scope: ObjectScope): Webhooks {
  checkReferences(config, scope, scope.on(config));
  const { mutating, validating } = config.spec;
  warnOfUnverified(config, scope);
  return {
    ...(mutating && { mutating_webhooks: mutatingWebhooks.resolve(mutating, scopeOf('mutating', config, scope)) }),
    ...(validating && {
      validating_webhooks: validatingWebhooks.resolve(validating, scopeOf('validating', config, scope)),
    }),
  };
}

function scopeOf(list: 'mutating' | 'validating', config: MCPWebhookConfig, scope: ObjectScope): VariantScope {
  const report = scope.on(config);
  return {
    upstreams: new Set(),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    checkUrl(url, below, flags) {
      const path = `spec.${list}${below}`;
      checkUserUrl(url, { path, block: path.replace(/\.url$/u, ''), flags, mode: scope.platform.mode }, report);
    },
    problem({ reason, path, message }) {
      report.problem(reason, `spec.${list}${path}`, message);
    },
  };
}

function warnOfUnverified(config: MCPWebhookConfig, scope: ObjectScope): void {
  for (const list of ['mutating', 'validating'] as const) {
    config.spec[list]?.forEach(({ tlsConfig }, index) => {
      if (tlsConfig?.insecureSkipVerify !== true) return;
      const message =
        'the certificate of the webhook is not verified, so anyone on the network path can allow or change calls: remove it, and set caSecretRef';
      scope.on(config).warning('UnverifiedTLS', `spec.${list}[${String(index)}].tlsConfig.insecureSkipVerify`, message);
    });
  }
}
