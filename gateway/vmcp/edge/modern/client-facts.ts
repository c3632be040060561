import { readString } from '../../../http/json-scan.ts';
import { MODERN_REVISION } from '../../era.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import { RELAYED_CAPABILITIES } from '../../server-requests.ts';
import type { ClientFacts } from '../../session.ts';
import { readCapabilities, readClientInfo } from '../initialize.ts';
import type { RequestMeta } from './request-meta.ts';

/** Capabilities of a client that backends learn: those whose requests the gateway relays, and extensions. */
const MIRRORED: readonly string[] = [...RELAYED_CAPABILITIES, 'extensions'];

const MOST_CLIENTS = 1_000;
/** Longest text of a client that is kept, in bytes. */
const LONGEST_KEY = 4_096;

/** Facts of the clients of one server, by the text that they send with each request. */
export class ClientFactsCache {
  readonly #known = new Map<string, ClientFacts>();

  /**
   * Returns the facts of the client, the same object for the same text. Throws `ScanError` (`invalid`) for capabilities
   * that are too long.
   */
  of(body: Buffer, { client, capabilities }: RequestMeta): ClientFacts {
    const info = client ? body.toString('latin1', client.start, client.end) : '';
    const declared = capabilities ? body.toString('latin1', capabilities.start, capabilities.end) : '';
    const key = `${info} ${declared}`;
    const known = this.#known.get(key);
    if (known) return known;
    const text = readCapabilities(body, capabilities, MIRRORED);
    const facts: ClientFacts = {
      revision: MODERN_REVISION,
      capabilities: text,
      offers: new Set(Object.keys(JSON.parse(text) as object)),
      client: readClientInfo(body, client),
    };
    if (key.length > LONGEST_KEY) return facts;
    if (this.#known.size >= MOST_CLIENTS) this.#known.clear();
    this.#known.set(key, facts);
    return facts;
  }
}

/** Returns the log level that a request asks for, an index of `LOG_LEVELS`; -1 for none or an unknown one. */
export const logLevelOf = (body: Buffer, { logLevel }: RequestMeta): number =>
  logLevel ? LOG_LEVELS.indexOf(readString(body, logLevel) as (typeof LOG_LEVELS)[number]) : -1;
