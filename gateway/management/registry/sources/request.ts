import { isObject, type JsonObject } from '../../../contract/json.ts';
import type { Outbound, OutboundReply } from '../../../outbound/fetch.ts';
import { OutboundError } from '../../../outbound/outbound-error.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../../outbound/policy.ts';
import { RegistryFault } from '../fault.ts';

const MAX_BYTES = 10 * 1024 * 1024;

/** Limits and headers of one request to a registry. */
interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a GET request to a registry. Rejects with `RegistryFault`. */
export type Request = (url: string, options: RequestOptions) => Promise<OutboundReply>;

/** Policy for the addresses of a registry. */
export const registryPolicy = (allowPrivateIp: boolean): OutboundPolicy => ({
  allowPrivate: allowPrivateIp,
  allowLoopback: allowPrivateIp,
  allowHttp: allowPrivateIp,
});

/** Returns a sender of requests through the outbound guard. `authorization` returns the header value, if there is one. */
export const requester =
  (outbound: Outbound, authorization: () => Promise<string | undefined>): Request =>
  async (url, { timeoutMs, headers, signal }) => {
    const credential = await authorization();
    const sent = {
      accept: 'application/json',
      ...headers,
      ...(credential !== undefined && { authorization: credential }),
    };
    try {
      return await outbound.request({
        ...{ url, method: 'GET', headers: sent, maxBytes: MAX_BYTES, timeoutMs, followRedirects: true, signal },
      });
    } catch (error) {
      throw outboundFault(error, url);
    }
  };

/** Returns the fault of a URL that must not be called, without a DNS lookup. */
export function urlFault(url: string, policy: OutboundPolicy): RegistryFault | undefined {
  const refused = checkOutboundUrl(url, policy);
  switch (refused?.reason) {
    case undefined:
      return undefined;
    case 'InsecureUrl':
      return new RegistryFault('setting', 'the URL is not encrypted: use https, or set allow_private_ip');
    case 'InvalidUrl':
      return new RegistryFault('setting', 'not an http or https URL: write https://HOST/PATH');
    case 'CredentialsInUrl':
      return new RegistryFault('setting', 'the URL contains a user name or password: remove it and set auth');
    case 'PrivateAddress':
    case 'LoopbackAddress':
    case 'ForbiddenAddress':
      return addressFault(url);
  }
}

const addressFault = (url: string, cause?: unknown): RegistryFault =>
  new RegistryFault(
    'connect',
    `${shownOrigin(url)} has a private or reserved address: set allow_private_ip if you trust it; link-local and metadata addresses are never called`,
    cause,
  );

/** Converts an error of the outbound guard. */
function outboundFault(error: unknown, url: string): unknown {
  if (!(error instanceof OutboundError)) return error;
  const place = shownOrigin(url);
  switch (error.kind) {
    case 'refused':
      return addressFault(url, error);
    case 'timeout':
      return new RegistryFault('connect', `${place} does not answer in time: check the address, then try again`, error);
    case 'unreachable':
      return new RegistryFault('connect', `${place} cannot be reached: check the address, then try again`, error);
    case 'redirect':
      return new RegistryFault('setting', `${place} redirects to another server: set the final URL`, error);
    case 'not_text':
      return new RegistryFault('document', `${place} sends a document that is not UTF-8`, error);
    case 'too_large':
      return new RegistryFault('document', `${place} sends more than ${String(MAX_BYTES)} bytes`, error);
  }
}

/** Returns the origin of a URL for messages: a path or query may hold a key. */
export const shownOrigin = (url: string): string => URL.parse(url)?.origin ?? 'the registry';

/** Rejects 401 and 403 with the fault `auth`. */
export function requireAccess(reply: OutboundReply): void {
  if (reply.status !== 401 && reply.status !== 403) return;
  throw new RegistryFault('auth', `${shownOrigin(reply.url)} requires a login: configure auth and log in`);
}

/** Returns the object in a reply; undefined for another status or content. */
export function objectIn({ status, body }: OutboundReply): JsonObject | undefined {
  if (status < 200 || status > 299) return undefined;
  try {
    const value = JSON.parse(body) as unknown;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
