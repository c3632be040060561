import { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { readDocument } from '../../gateway/contract/run-config-document.ts';
import type { Report } from './scope.ts';
import { compareText } from './snapshot.ts';

/** Reports where a rendered configuration is not what the gateway reads, by the gateway's own validator. */
export function checkConfig(config: GatewayConfig, report: Report): void {
  const read = readDocument(GatewayConfig, config);
  if ('config' in read) return;
  for (const { path, message } of read.problems) {
    report.problem('RenderedConfigInvalid', 'spec', `the rendered configuration at ${path} ${message}`);
  }
}

/** A copy whose objects have their members in the order of names, so that equal input gives equal bytes. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => sortKeys(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => compareText(a, b));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortKeys(item as unknown)])) as T;
}
