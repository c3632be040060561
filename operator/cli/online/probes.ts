import { fetch } from 'undici';
import { dispatcherTrusting } from '../../../gateway/outbound/use-proxies.ts';
import { ProxyError } from '../../../gateway/outbound/proxy/proxy-error.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { IssuerDiscovery, discoveredKeys, wellKnownUrls } from '../../../gateway/incoming/keys/discovery.ts';
import { FetchFailure, type JsonGet } from '../../../gateway/incoming/keys/json-get.ts';
import { readKeySet } from '../../../gateway/incoming/keys/key-set.ts';

export interface Reply {
  readonly status: number;
  /** Value of a header. */
  readonly header: (name: string) => string | undefined;
  readonly body: string;
}

export interface GetOptions {
  readonly method?: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM certificates that are trusted beside the system's. */
  readonly ca?: string;
  /** `manual`: a redirect is the reply. */
  readonly redirect?: 'follow' | 'manual';
}

/** Options for a server that only has to answer. A redirect is an answer too, even to its own URL. */
export const ANY_ANSWER: GetOptions = { method: 'HEAD', redirect: 'manual' };

/** Sends one request. Rejects with `NoReply`. */
export type Get = (url: string, options?: GetOptions) => Promise<Reply>;

/** Returns `get` with certificates that it trusts beside the system's. */
export const trusting = (get: Get, ca: string | undefined): Get =>
  ca === undefined ? get : (url, options) => get(url, { ...options, ca });

/** There is no reply. The message names the host and the code of the system. */
export class NoReply extends Error {}

const TIMEOUT_MS = 10_000;

export const httpGet: Get = async (url, { method = 'GET', headers = {}, redirect = 'follow', ca } = {}) => {
  const dispatcher = ca === undefined ? undefined : dispatcherTrusting(ca);
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method, headers, redirect, signal, ...(dispatcher && { dispatcher }) });
    const body = await response.text();
    return { status: response.status, header: (name) => response.headers.get(name) ?? undefined, body };
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof ProxyError) throw new NoReply(cause.message);
    throw new NoReply(`${URL.parse(url)?.host ?? url} cannot be reached (${reasonOf(error)})`);
  } finally {
    void dispatcher?.close();
  }
};

/** Returns the code of the system. A message may quote the reply. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error.name === 'TimeoutError') return 'no answer within 10 s';
  const { cause } = error;
  if (cause instanceof Error && cause.message === 'redirect count exceeded') return 'too many redirects';
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.name) : error.name;
}

/** Issuer of a virtual server whose tokens come from elsewhere. */
export interface ExternalIssuer {
  readonly issuer: string;
  /** Discovered when absent. */
  readonly jwksUrl: string | undefined;
}

/** Place of the metadata of a provider: found from its issuer, or at a URL. */
export type MetadataPlace = { readonly issuer: string } | { readonly url: string };

/** Returns the members of all metadata documents of a provider; undefined when there is none. */
export async function metadataAt(place: MetadataPlace, get: Get): Promise<JsonObject | undefined> {
  const urls = 'url' in place ? [place.url] : wellKnownUrls(place.issuer);
  const documents = await Promise.all(urls.map((url) => jsonOver(get)(url).catch(() => undefined)));
  const found = documents.flatMap((reply) => (isObject(reply?.document) ? [reply.document] : []));
  const genuine = found.filter(({ issuer }) => 'url' in place || issuer === place.issuer);
  return genuine.length === 0 ? undefined : Object.fromEntries(genuine.flatMap((each) => Object.entries(each)));
}

/** Reads the metadata and the keys of an issuer. Returns the reason why tokens could not be validated. */
export async function issuerFault({ issuer, jwksUrl }: ExternalIssuer, get: Get): Promise<string | undefined> {
  const getJson = jsonOver(get);
  try {
    const { document } =
      jwksUrl === undefined
        ? await discoveredKeys(new IssuerDiscovery(issuer, getJson, () => 0), getJson)
        : await getJson(jwksUrl);
    await readKeySet(document);
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
}

const jsonOver =
  (get: Get): JsonGet =>
  async (url) => {
    const { status, body } = await get(url, { headers: { accept: 'application/json' } }).catch((error: unknown) => {
      throw error instanceof NoReply ? new FetchFailure('KeysUnavailable', error.message) : error;
    });
    if (status !== 200) throw new FetchFailure('UnexpectedStatus', `GET ${url} answered ${String(status)}`, { status });
    try {
      return { document: JSON.parse(body) as unknown, text: body, maxAgeMs: 0 };
    } catch {
      throw new FetchFailure('NotJson', `GET ${url} answered something that is not JSON`);
    }
  };
