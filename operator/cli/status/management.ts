import { readCallCounts } from './call-counts.ts';
import { gatewayStatus, type ServerStatus } from './gateway-status.ts';

const TIMEOUT_MS = 5_000;

/** The management listener gives no usable answer. The message is for users. */
export class NoStatus extends Error {}

/** Reads the state of every virtual server from a management listener. Rejects with `NoStatus`. */
export async function readManagement(managementUrl: string): Promise<ServerStatus[]> {
  const [status, health, metrics] = await Promise.all(
    ['/status', '/api/backends/health', '/metrics'].map((path) => get(new URL(path, managementUrl))),
  );
  const servers = gatewayStatus({
    status: parsed(status),
    health: parsed(health),
    calls: readCallCounts(metrics ?? ''),
  });
  if (!servers) throw new NoStatus(`${managementUrl} is not the management URL of a gateway: correct --management`);
  return servers;
}

/** Returns the body; undefined for an answer other than 200. */
async function get(url: URL): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' });
    const body = await response.text();
    return response.ok ? body : undefined;
  } catch {
    throw new NoStatus(`nothing answers at ${url.origin}: start the gateway, or correct --management`);
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
