import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { refusedBy } from './outbound-error.ts';
import { isForbiddenListener } from './own-listeners.ts';
import { checkAddress, checkHost, type OutboundPolicy } from './policy.ts';
import { connectThrough, ownFault } from './proxy/connect-through.ts';
import { authorityOf } from './proxy/open-through.ts';
import { proxyFor } from './proxy/proxies.ts';
import { TrustedRoots, type TrustOptions } from './trusted-roots.ts';

export interface ConnectorOptions extends TrustOptions {
  /** Maximum time for lookup, connection and TLS handshake together. */
  readonly timeoutMs: number;
  /** DNS lookup; that of the system when absent. */
  readonly lookup?: LookupFunction | undefined;
  /** URL that the configuration names: it may be an MCP endpoint of this process. A URL of a document never is. */
  readonly configuredUrl?: string | URL | undefined;
  /** Accepts every certificate. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/**
 * Creates the connector of undici. Each connection makes one DNS lookup; every address must satisfy the policy, and one of
 * these addresses is dialled, or the proxy that the environment names. HTTP/1.1, TLS 1.2 or later. Fails with `OutboundError` when
 * the policy rejects, and before the first byte of a request when the connection leads to a listener of this process that
 * `configuredUrl` does not name.
 */
export function guardedConnector(policy: OutboundPolicy, options: ConnectorOptions): buildConnector.connector {
  const { timeoutMs, configuredUrl } = options;
  const lookup = guardedLookup(policy, options.lookup ?? systemLookup);
  const connectorFor = connectorsWith(lookup, options);
  const configuredAt = URL.parse(String(configuredUrl ?? ''));
  const configured = configuredAt && authorityOf(configuredAt);

  return (target, callback) => {
    try {
      const refused = checkHost(target, policy); // a literal address is never looked up
      if (refused) throw refusedBy(refused);
      const { servername: _, ...place } = target; // undici derives it from a `Host` header: the certificate is that of the URL
      const connect = connectorFor(target.protocol);
      const isConfigured = authorityOf(target) === configured;
      const proxy = proxyFor(target);
      if (proxy) {
        connectThrough(proxy, { target: place, connect, timeoutMs, lookup, isConfigured }).then(
          (socket) => callback(null, socket),
          (error: unknown) => callback(error as Error, null),
        );
        return;
      }
      connect(place, (error, socket) => {
        if (!socket) callback(error, null);
        else if (!isForbiddenListener(socket, isConfigured)) callback(null, socket);
        else {
          socket.destroy();
          callback(ownFault(target), null);
        }
      });
    } catch (error) {
      queueMicrotask(() => {
        callback(error as Error, null);
      });
    }
  };
}

/** Returns a function that chooses the connector for a protocol. That for https follows the trusted roots. */
function connectorsWith(
  lookup: LookupFunction,
  { timeoutMs: timeout, lookup: _lookup, insecureSkipVerify = false, configuredUrl: _url, ...trust }: ConnectorOptions,
): (protocol: string) => buildConnector.connector {
  const shared = { timeout, allowH2: false, lookup };
  const plain = buildConnector(shared);
  const roots = new TrustedRoots(trust);
  let secure: { readonly context: SecureContext; readonly connect: buildConnector.connector } | undefined;
  return (protocol) => {
    if (protocol !== 'https:') return plain;
    const secureContext = roots.context();
    // Each set of roots has its own cache of TLS sessions, because a resumed session is not verified again.
    if (secure?.context !== secureContext) {
      const rejectUnauthorized = !insecureSkipVerify;
      secure = { context: secureContext, connect: buildConnector({ ...shared, secureContext, rejectUnauthorized }) };
    }
    return secure.connect;
  };
}

/** Returns a DNS lookup that fails with `OutboundError` when one of the addresses does not satisfy the policy. */
export const guardedLookup =
  (policy: OutboundPolicy, lookup: LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) {
        callback(error, []);
        return;
      }
      const addresses = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
      const refused = addresses.map(({ address }) => checkAddress(address, hostname, policy)).find(Boolean);
      const [first] = addresses;
      if (refused) callback(refusedBy(refused), []);
      else if (!first) callback(Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' }), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
