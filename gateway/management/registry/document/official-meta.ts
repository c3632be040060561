import { isObject } from '../../../contract/json.ts';
import type { ServerRecord } from '../schema/server-json.ts';

/** Key of the metadata that a registry adds to a server. */
export const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** Metadata of a registry about one version of a server. Unknown values are undefined. */
export interface OfficialMeta {
  readonly status: string | undefined;
  /** RFC 3339. */
  readonly updatedAt: string | undefined;
  readonly isLatest: boolean;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reads the metadata of the registry. A server without them is the latest version. */
export function officialMetaOf({ _meta }: Pick<ServerRecord, '_meta'>): OfficialMeta {
  const found = _meta[OFFICIAL];
  const meta = isObject(found) ? found : {};
  return {
    status: textOf(meta['status']),
    updatedAt: textOf(meta['updatedAt']) ?? textOf(meta['publishedAt']),
    isLatest: meta['isLatest'] !== false,
  };
}
