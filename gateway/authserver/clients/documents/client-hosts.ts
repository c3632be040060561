import type { Outbound, OutboundOptions, OutboundReply } from '../../../outbound/fetch.ts';
import { OutboundError, type OutboundFault } from '../../../outbound/outbound-error.ts';
import { HOST_PROBLEMS, INSECURE, isLoopbackUrl, type HostPolicy } from './client-id-url.ts';
import type { DocumentReach } from './document-reach.ts';
import { ProxyError } from '../../../outbound/proxy/proxy-error.ts';

interface ClientHostsOptions {
  readonly hosts: HostPolicy;
  /** Creates the guarded client for a network policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Notes each request that was answered, or whose host could not be reached. */
  readonly reach?: Pick<DocumentReach, 'noteReply' | 'noteFailure'> | undefined;
}

/** Text of a JSON document. `reason` is for the log and contains nothing from a reply. */
type JsonText =
  | { readonly ok: true; readonly text: string; readonly cacheControl: string | undefined }
  | { readonly ok: false; readonly reason: string; readonly fault: DocumentFault };

const TIMEOUT_MS = 5_000;
/** So many that slow hosts of a few addresses, each with its own budget of fetches, cannot take them all. */
const SLOTS = { overall: 100, perHost: 2 };
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/u;

const unusable = (reason: string): JsonText => ({ ok: false, reason, fault: 'document' });

/** Requests to URLs that clients name. Documents and keys share the limit of running requests. */
export class ClientHosts {
  readonly #slots = new FetchSlots(SLOTS);
  readonly #outbound: Outbound;
  /** For URLs on a loopback host, when those are allowed. Public names never use it. */
  readonly #development: Outbound | undefined;
  readonly #reach: ClientHostsOptions['reach'];

  constructor({ hosts, outbound, reach }: ClientHostsOptions) {
    this.#reach = reach;
    const open = (allowLoopback: boolean): Outbound =>
      outbound({ policy: { allowPrivate: false, allowHttp: false, allowLoopback } });
    this.#outbound = open(false);
    this.#development = hosts.allowLoopbackHttp ? open(true) : undefined;
  }

  /** Takes a slot for one request, and returns the function that releases it; undefined when no slot is free. */
  slot(url: string): (() => void) | undefined {
    return this.#slots.take(new URL(url).hostname);
  }

  /** Fetches a JSON document. Failures of the host never cause a rejection. */
  async json(url: string, maxBytes: number): Promise<JsonText> {
    try {
      const { status, contentType, body, headers } = await this.#get(url, maxBytes);
      this.#reach?.noteReply(url);
      if (status !== 200) return unusable(`the document was answered with ${String(status)}`);
      if (!JSON_TYPE.test(contentType)) return unusable('the document is not JSON by its content type');
      return { ok: true, text: body, cacheControl: headers['cache-control'] };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (isOfNetwork(error)) this.#reach?.noteFailure(url);
      else if (error.kind !== 'refused') this.#reach?.noteReply(url);
      return { ok: false, reason: error.message, fault: faultOfRequest(error) };
    }
  }

  /** Closes the clients; running requests fail. */
  async close(): Promise<void> {
    await Promise.all([this.#outbound.close(), this.#development?.close()]);
  }

  #get(url: string, maxBytes: number): Promise<OutboundReply> {
    const outbound = (isLoopbackUrl(url) && this.#development) || this.#outbound;
    const limits = { maxBytes, timeoutMs: TIMEOUT_MS, followRedirects: false };
    return outbound.request({ url, method: 'GET', headers: { accept: 'application/json' }, ...limits });
  }
}

/** Limits running requests, in total and per host. A request without a slot fails at once. */
export class FetchSlots {
  readonly #overall: number;
  readonly #perHost: number;
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor({ overall, perHost }: { readonly overall: number; readonly perHost: number }) {
    this.#overall = overall;
    this.#perHost = perHost;
  }

  /** Takes a slot and returns the function that releases it, to be called once; undefined when none is free. */
  take(host: string): (() => void) | undefined {
    const ofHost = this.#running.get(host) ?? 0;
    if (this.#total >= this.#overall || ofHost >= this.#perHost) return undefined;
    this.#total += 1;
    this.#running.set(host, ofHost + 1);
    return () => {
      this.#total -= 1;
      const left = (this.#running.get(host) ?? 1) - 1;
      if (left > 0) this.#running.set(host, left);
      else this.#running.delete(host);
    };
  }
}

/** Part of the way to a document that prevents its use. */
export type DocumentFault =
  | 'client_id' // no URL that may be fetched
  | 'denied_host'
  | 'other_host' // not in the list of allowed hosts
  | 'loopback_address'
  | 'private_address'
  | 'forbidden_address' // of the kinds that are never called
  | 'proxy'
  | 'unreachable'
  | 'document'; // what the host answers

/** Returns the fault of a client id that `checkClientIdUrl` rejects. */
export function faultOfClientId(clientId: string, problem: string): DocumentFault {
  if (problem === HOST_PROBLEMS.denied) return 'denied_host';
  if (problem === HOST_PROBLEMS.other) return 'other_host';
  return problem === INSECURE && isLoopbackUrl(clientId) ? 'loopback_address' : 'client_id';
}

/** Faults of the network. A host that the guard refuses says nothing about the network. */
const OF_NETWORK: ReadonlySet<OutboundFault> = new Set(['unreachable', 'timeout']);

/** Returns true when the request has not reached the host. */
const isOfNetwork = ({ kind }: OutboundError): boolean => OF_NETWORK.has(kind);

export function faultOfRequest(error: OutboundError): DocumentFault {
  if (error instanceof ProxyError) return 'proxy';
  if (isOfNetwork(error)) return 'unreachable';
  if (error.kind !== 'refused') return 'document';
  switch (error.refusal) {
    case 'PrivateAddress':
      return 'private_address';
    case 'LoopbackAddress':
      return 'loopback_address';
    default:
      return 'forbidden_address';
  }
}
