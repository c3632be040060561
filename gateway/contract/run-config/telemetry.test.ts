import { describe, expect, it } from 'vitest';
import { telemetryProblems, type TelemetryConfig } from './telemetry.ts';

const ENDPOINT = { endpoint: 'https://otel.example.com:4318' };
const problems = (config: TelemetryConfig): string[] =>
  telemetryProblems({ ...ENDPOINT, ...config }).map(({ reason, path }) => `${reason} ${path}`);

describe('telemetry_config', () => {
  it.each<[string, TelemetryConfig]>([
    ['without an endpoint', {}],
    ['with http to this machine', { endpoint: 'http://127.0.0.1:4318' }],
    ['with http and insecure', { endpoint: 'http://otel.team.svc:4318', insecure: true }],
    ['with a path', { endpoint: 'https://otel.example.com/otlp' }],
    ['with a sampling rate of 0', { samplingRate: '0' }],
    ['with a sampling rate of 1.0', { samplingRate: '1.0' }],
    ['with an authorization header', { headers: { Authorization: 'Bearer a' } }],
    ['with variables', { environmentVariables: ['POD_NAME', 'REGION', 'KEYBOARD'] }],
  ])('is accepted %s', (_, config) => {
    expect(problems(config)).toEqual([]);
  });

  it.each<[TelemetryConfig, string]>([
    [{ endpoint: 'otel:4318' }, 'InvalidUrl telemetry_config.endpoint'],
    [{ endpoint: 'grpc://otel:4317' }, 'InvalidUrl telemetry_config.endpoint'],
    [{ endpoint: 'https://user:pass@otel.example.com' }, 'CredentialsInUrl telemetry_config.endpoint'],
    [{ endpoint: 'https://otel.example.com/?token=a' }, 'InvalidUrl telemetry_config.endpoint'],
    [{ endpoint: 'http://otel.example.com' }, 'InsecureUrl telemetry_config.endpoint'],
    [{ tracingEnabled: false, metricsEnabled: false }, 'RuleViolated telemetry_config.endpoint'],
    ...['', '-0.1', '1.01', '5%', '.5', '1e-2', 'NaN'].map((samplingRate): [TelemetryConfig, string] => [
      { samplingRate },
      'InvalidValue telemetry_config.samplingRate',
    ]),
    [{ headers: { 'X-A': 'a\r\nX-B: b' } }, 'InvalidHeaderValue telemetry_config.headers.X-A'],
    [{ headers: { 'X A': 'a' } }, 'InvalidValue telemetry_config.headers.X A'],
    [{ headers: { 'content-type': 'text/plain' } }, 'RestrictedHeader telemetry_config.headers.content-type'],
    [{ headerFiles: { Host: '/a' } }, 'RestrictedHeader telemetry_config.headerFiles.Host'],
    [{ headers: { 'x-a': '1' }, headerFiles: { 'X-A': '/a' } }, 'DuplicateHeader telemetry_config.headers.x-a'],
    [{ environmentVariables: ['A=B'] }, 'InvalidValue telemetry_config.environmentVariables[0]'],
    [{ environmentVariables: ['POD_NAME', 'API_TOKEN'] }, 'SecretVariable telemetry_config.environmentVariables[1]'],
    [{ environmentVariables: ['VMCP_API_KEY'] }, 'SecretVariable telemetry_config.environmentVariables[0]'],
  ])('is rejected: %j', (config, problem) => {
    expect(problems(config)).toEqual([problem]);
  });

  it('is rejected without a text of a header in the message', () => {
    expect(JSON.stringify(telemetryProblems({ headers: { 'X-A': 'canary\n' } }))).not.toContain('canary');
  });
});
