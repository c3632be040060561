import { Type, type Static, type TObject } from 'typebox';
import { isObject, type JsonObject } from '../../../contract/json.ts';
import { compiled } from '../schema/compiled.ts';
import { RemoteServerEntry, ServerEntry } from '../schema/entries.ts';
import type { ServerJson } from '../schema/server-json.ts';

const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';

const { tier, status, tools, overview, tags, metadata, custom_metadata, proxy_port, args, ...rest } =
  ServerEntry.properties;
const { container_tags, permissions, provenance, env_vars } = rest;
const { oauth_config } = RemoteServerEntry.properties;

/** Members that a publisher adds to a server for one image or URL. */
const Extension = Type.Partial(
  Type.Object({
    ...{ tier, status, tools, overview, tags, metadata, custom_metadata, proxy_port, args },
    ...{ container_tags, permissions, provenance, env_vars, oauth_config },
  }),
);
export type Extension = Static<typeof Extension>;

const members = Object.entries((Extension as TObject).properties).map(
  ([name, schema]) => [name, compiled(schema)] as const,
);

/**
 * Reads the members that the publisher adds for `key`, an image or a URL, under any vendor. Leaves out members that do not
 * fit their schema.
 */
export function extensionOf({ _meta }: ServerJson, key: string): Extension {
  const added = addedFor(_meta?.[PUBLISHER], key);
  return Object.fromEntries(
    members
      .filter(([name, fits]) => Object.hasOwn(added, name) && fits(added[name]))
      .map(([name]) => [name, added[name]]),
  );
}

function addedFor(publisher: unknown, key: string): JsonObject {
  if (!isObject(publisher)) return {};
  const found = Object.values(publisher).find((vendor) => isObject(vendor) && Object.hasOwn(vendor, key));
  const added = isObject(found) ? found[key] : undefined;
  return isObject(added) ? added : {};
}
