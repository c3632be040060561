import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { checkGatewayConfig } from '../../gateway/read-gateway-config.ts';
import type { Report } from './scope.ts';
import { compareText } from './snapshot.ts';

/** Reports where a rendered configuration is not what the gateway reads, by the gateway's own validator. */
export function checkConfig(config: GatewayConfig, report: Report): void {
  const read = checkGatewayConfig(started(config));
  if ('config' in read) return;
  for (const { path, message } of read.problems) {
    report.problem('RenderedConfigInvalid', 'spec', `the rendered configuration at ${path} ${message}`);
  }
}

/** As it is once the processes of the gateway's own run, each at some port of this machine. */
function started(config: GatewayConfig): unknown {
  if (!Array.isArray((config as Partial<GatewayConfig>).vmcp?.backends)) return config;
  const backends = config.vmcp.backends.map((backend) =>
    backend.process && backend.transport !== 'stdio' ? { url: 'http://127.0.0.1:1/mcp', ...backend } : backend,
  );
  return { ...config, vmcp: { ...config.vmcp, backends } };
}

/** A copy whose objects have their members in the order of names, so that equal input gives equal bytes. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => sortKeys(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => compareText(a, b));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortKeys(item as unknown)])) as T;
}
