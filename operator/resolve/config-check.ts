import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { Problem } from '../../gateway/contract/problem.ts';
import { checkGatewayConfig } from '../../gateway/read-gateway-config.ts';
import { parsePath } from './fields/field-path.ts';
import type { Report } from './scope.ts';
import { compareText } from './snapshot.ts';

/** Lists the problems that the gateway's own validator finds in a rendered configuration. */
export function configFaults(config: GatewayConfig): readonly Problem[] {
  const read = checkGatewayConfig(started(config));
  return 'config' in read ? [] : read.problems;
}

export function reportFaults(faults: readonly Problem[], report: Report): void {
  for (const { path, message } of faults) {
    report.problem('RenderedConfigInvalid', 'spec', `the rendered configuration at ${path} ${message}`);
  }
}

/** Returns the name of the backend that a problem is about. */
export function backendOf({ path }: Problem, { vmcp }: GatewayConfig): string | undefined {
  const [root, member, step] = parsePath(path);
  if (root !== 'vmcp') return undefined;
  if (member === 'backends' && typeof step === 'number') return vmcp.backends[step]?.name;
  return member === 'outgoing_auth' && typeof step === 'string' ? step : undefined;
}

/** Returns the configuration with a placeholder URL for each backend that gets its URL when its process starts. */
function started(config: GatewayConfig): unknown {
  if (!Array.isArray((config as Partial<GatewayConfig>).vmcp?.backends)) return config;
  const backends = config.vmcp.backends.map((backend) =>
    backend.process && backend.transport !== 'stdio' ? { url: 'http://127.0.0.1:1/mcp', ...backend } : backend,
  );
  return { ...config, vmcp: { ...config.vmcp, backends } };
}

/** Returns a copy with members sorted by name, so that equal input gives equal bytes. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => sortKeys(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => compareText(a, b));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortKeys(item as unknown)])) as T;
}
