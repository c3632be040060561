import type { Static } from 'typebox';
import { headerNameProblems, isHeaderValue } from '../reserved-names.ts';
import { block, flag, text, textMap, texts } from '../optional.ts';
import type { Problem } from '../problem.ts';
import { isEncrypted, OWN_CREDENTIAL } from '../rule.ts';

/** A share from 0 to 1 as text, such as `0.05`. */
export const SAMPLING_RATE_PATTERN = '^(0(\\.[0-9]+)?|1(\\.0+)?)$';

/** Share of the traces that are kept when `samplingRate` is absent. */
export const DEFAULT_SAMPLING_RATE = '0.05';

/** Traces and metrics, sent by OTLP over HTTP and served at `/metrics`. */
export const telemetryConfig = block('Traces and metrics.', {
  endpoint: text('OTLP endpoint. `/v1/traces` and `/v1/metrics` are appended.'),
  headers: textMap('Headers sent to the endpoint.'),
  headerFiles: textMap('Headers sent to the endpoint whose values are in files: name to path.'),
  caCertPath: text('PEM certificates trusted in addition to the system roots.'),
  insecure: flag('Connect to the endpoint without TLS.'),
  allowPrivateIP: flag('Allow the endpoint to resolve to a private address.'),
  serviceName: text('service.name. Defaults to the name of the server.'),
  serviceVersion: text('service.version. Defaults to the version of vmcp.'),
  samplingRate: text('Share of traces that are kept, 0 to 1. Defaults to 0.05. A sampled caller is always followed.'),
  customAttributes: textMap('Resource attributes of all traces and metrics.'),
  environmentVariables: texts('Environment variables added to spans as `environment.NAME`.'),
  tracingEnabled: flag('Send traces. Defaults to true with an endpoint.'),
  metricsEnabled: flag('Send metrics. Defaults to true with an endpoint.'),
  enableMetricsPath: flag('Serve `/metrics`. Defaults to true.'),
  useLegacyAttributes: flag('Also write span attributes under their deprecated names.'),
});

export type TelemetryConfig = NonNullable<Static<typeof telemetryConfig>>;

const PATH = 'telemetry_config';

/** Lists problems of `telemetry_config` that its schema cannot express. */
export function telemetryProblems(config: TelemetryConfig | undefined): Problem[] {
  if (config === undefined) return [];
  return [
    ...endpointProblems(config),
    ...samplingProblems(config),
    ...headerProblems(config),
    ...variableProblems(config.environmentVariables),
  ];
}

function endpointProblems({ endpoint, insecure, tracingEnabled, metricsEnabled }: TelemetryConfig): Problem[] {
  if (endpoint === undefined) return [];
  const path = `${PATH}.endpoint`;
  const problem = (reason: string, message: string): Problem[] => [{ reason, path, message }];
  if (tracingEnabled === false && metricsEnabled === false) {
    return problem('RuleViolated', 'with tracingEnabled and metricsEnabled false nothing is sent: remove the endpoint');
  }
  const url = URL.parse(endpoint);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    return problem('InvalidUrl', 'not an http or https URL: write https://HOST:4318');
  }
  if (url.username !== '' || url.password !== '') {
    return problem('CredentialsInUrl', 'the URL contains a user name or password: use headerFiles');
  }
  if (url.hash !== '' || url.search !== '') {
    return problem('InvalidUrl', 'the paths of OTLP are appended to it: remove the ? or # and the text after it');
  }
  if (insecure === true || isEncrypted(url.href)) return [];
  return problem('InsecureUrl', `http is not encrypted: use https, or set ${PATH}.insecure: true`);
}

function samplingProblems({ samplingRate }: TelemetryConfig): Problem[] {
  if (samplingRate === undefined || new RegExp(SAMPLING_RATE_PATTERN, 'u').test(samplingRate)) return [];
  const message = 'must be a share from 0 to 1, such as "0.05"';
  return [{ reason: 'InvalidValue', path: `${PATH}.samplingRate`, message }];
}

function headerProblems({ headers = {}, headerFiles = {} }: TelemetryConfig): Problem[] {
  const inFiles = new Set(Object.keys(headerFiles).map((name) => name.toLowerCase()));
  return [
    ...Object.entries(headers).flatMap(([name, value]): Problem[] => {
      const path = `${PATH}.headers.${name}`;
      const problems = headerNameProblems(name, path, OWN_CREDENTIAL);
      if (!isHeaderValue(value)) {
        const message =
          'the value contains a line break or another character that a header must not contain: remove it';
        problems.push({ reason: 'InvalidHeaderValue', path, message });
      }
      if (inFiles.has(name.toLowerCase())) {
        const message = `"${name}" is set twice: remove one`;
        problems.push({ reason: 'DuplicateHeader', path, message });
      }
      return problems;
    }),
    ...Object.keys(headerFiles).flatMap((name) =>
      headerNameProblems(name, `${PATH}.headerFiles.${name}`, OWN_CREDENTIAL),
    ),
  ];
}

/** Words in names of variables that hold secrets. */
const SECRET_WORD = /SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|PRIVATE|AUTH|COOKIE|(^|_)KEY(_|$)/iu;

function variableProblems(names: readonly string[] = []): Problem[] {
  return names.flatMap((name, index): Problem[] => {
    const path = `${PATH}.environmentVariables[${String(index)}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name)) {
      return [{ reason: 'InvalidValue', path, message: `"${name}" is not the name of an environment variable` }];
    }
    if (!SECRET_WORD.test(name)) return [];
    const message = `"${name}" may hold a secret, which everyone with access to the traces could read: remove it`;
    return [{ reason: 'SecretVariable', path, message }];
  });
}
