import { telemetryProblems, type TelemetryConfig } from '../../gateway/contract/run-config/telemetry.ts';
import { isEncrypted } from '../../gateway/contract/rule.ts';
import { checkUrl } from './addresses.ts';
import { bundleFile } from './ca-bundle.ts';
import { checkReferences } from './references.ts';
import type { ObjectScope, Report, Scope } from './scope.ts';
import type { MCPTelemetryConfig } from './snapshot.ts';

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
