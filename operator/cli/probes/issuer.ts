import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { IssuerDiscovery, discoveredKeys, wellKnownUrls } from '../../../gateway/incoming/keys/discovery.ts';
import { FetchFailure, type JsonGet } from '../../../gateway/incoming/keys/json-get.ts';
import { readKeySet } from '../../../gateway/incoming/keys/key-set.ts';
import { NoReply, type Get } from './http-get.ts';

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
