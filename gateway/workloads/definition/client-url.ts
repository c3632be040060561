import { isIPv6 } from 'node:net';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

/** Returns the URL at which clients reach a workload; empty without a port. Path and query of a remote URL are kept. */
export function clientUrlOf(config: RunConfig, port: number): string {
  if (port === 0) return '';
  const { host = '127.0.0.1', proxy_mode: mode, transport, remote_url: remote, name = '' } = config;
  const isSse = (transport === 'stdio' ? mode : transport) === 'sse';
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const origin = `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${String(port)}`;
  if (isSse) return `${origin}/sse#${encodeURIComponent(name)}`;
  const query = remote === undefined ? '' : (URL.parse(remote)?.search ?? '');
  return `${origin}/mcp${query}`;
}
