import { RegistryFault } from '../registry-fault.ts';
import type { Catalog } from './catalog.ts';
import { parseDocument, type DocumentFault } from './parse-document.ts';

const REASONS: Readonly<Record<DocumentFault, string>> = {
  not_json: 'is not JSON',
  wrong_layout: 'has neither "data" nor a list of "servers"',
  empty: 'contains no servers, skills or plugins',
  legacy: 'has the legacy layout: convert it to "data.servers" with server.json entries',
};

/** Returns the catalog in a document. Throws `RegistryFault`. `place` names the document in messages. */
export function catalogIn(text: string, place: string, readAt: string): Catalog {
  const parsed = parseDocument(text, readAt);
  if ('catalog' in parsed) return parsed.catalog;
  throw new RegistryFault(parsed.fault === 'legacy' ? 'legacy' : 'document', `${place} ${REASONS[parsed.fault]}`);
}
