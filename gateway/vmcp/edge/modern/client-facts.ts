import { readString } from '../../../http/json-scan.ts';
import { MODERN_REVISION } from '../../era.ts';
import { LOG_LEVELS } from '../../log-level.ts';
import type { ClientFacts } from '../../session.ts';
import { readCapabilities, readClientInfo } from '../initialize.ts';
import type { RequestMeta } from './request-meta.ts';

/** Facts of the clients, by what they send with each request. */
const KNOWN = new WeakMap<RequestMeta, ClientFacts>();

/**
 * Returns the facts of a client, the same object for the same `_meta`. Throws `ScanError` (`invalid`) for capabilities
 * that are too long.
 */
export function clientFactsOf(meta: RequestMeta): ClientFacts {
  const known = KNOWN.get(meta);
  if (known) return known;
  const capabilities = readCapabilities(meta.text, meta.capabilities);
  const facts: ClientFacts = {
    revision: MODERN_REVISION,
    capabilities,
    offers: new Set(Object.keys(JSON.parse(capabilities) as object)),
    client: readClientInfo(meta.text, meta.client),
  };
  KNOWN.set(meta, facts);
  return facts;
}

/** Returns the log level that a request asks for, an index of `LOG_LEVELS`; -1 for none or an unknown one. */
export const logLevelOf = ({ text, logLevel }: RequestMeta): number =>
  logLevel ? LOG_LEVELS.indexOf(readString(text, logLevel) as (typeof LOG_LEVELS)[number]) : -1;
