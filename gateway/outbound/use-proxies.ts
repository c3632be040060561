import { Agent, setGlobalDispatcher, type Dispatcher } from 'undici';
import { guardedConnector } from './connector.ts';
import type { OutboundPolicy } from './policy.ts';
import { inAbsoluteForm } from './proxy/absolute-form.ts';
import { readProxies, setProxies } from './proxy/proxies.ts';

/** Policy of `fetch`, whose callers check their URLs themselves. */
const ANY_HOST: OutboundPolicy = {
  allowPrivate: true,
  allowLoopback: true,
  allowHttp: true,
  allowForbidden: true,
};
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Makes all later requests of this process use the proxies of the environment: those of the outbound guard, and those of `fetch`.
 * @throws ProxyUrlError
 */
export function useProxies(env: Readonly<Record<string, string | undefined>>): void {
  const proxies = readProxies(env);
  setProxies(proxies);
  if (!proxies) return;
  const connect = guardedConnector(ANY_HOST, { timeoutMs: CONNECT_TIMEOUT_MS });
  setGlobalDispatcher(inAbsoluteForm(new Agent({ allowH2: false, connect })));
}

/** Returns a dispatcher of `fetch` that trusts these PEM certificates beside the system's, and uses the same proxies. */
export const dispatcherTrusting = (ca: string): Dispatcher =>
  inAbsoluteForm(
    new Agent({ allowH2: false, connect: guardedConnector(ANY_HOST, { timeoutMs: CONNECT_TIMEOUT_MS, ca: [ca] }) }),
  );
