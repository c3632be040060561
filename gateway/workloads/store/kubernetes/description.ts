import { asksForNothing } from '../../../contract/json.ts';
import { Value } from 'typebox/value';
import { API_GROUP } from '../../../contract/api-group.ts';
import { remoteAuthConfig } from '../../../contract/run-config/auth.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';

export type Annotations = Readonly<Record<string, string>>;

/** Annotations of members that name the registry entry of a workload. */
const ENTRY = {
  registry_server_name: `management.${API_GROUP}/registry-server-name`,
  registry_url: `management.${API_GROUP}/registry-url`,
  registry_api_url: `management.${API_GROUP}/registry-api-url`,
} as const satisfies Partial<Record<keyof RunConfig, string>>;
/** Headers that the server reads, as JSON. */
const HEADERS = `management.${API_GROUP}/headers`;

type EntryMember = keyof typeof ENTRY;
type Headers = NonNullable<NonNullable<RunConfig['remote_auth_config']>['headers']>;

const HeadersSchema = remoteAuthConfig.properties.headers;
const ENTRY_MEMBERS = Object.keys(ENTRY) as EntryMember[];

/** Separates the members that only describe a workload, as annotations, from those that its object has fields for. */
export function splitDescription(config: RunConfig): {
  readonly settings: RunConfig;
  readonly annotations: Annotations;
} {
  const { remote_auth_config: { headers, ...login } = {}, ...others } = config;
  const fields = Object.entries(others).filter(([member]) => !Object.hasOwn(ENTRY, member));
  const texts = ENTRY_MEMBERS.flatMap((member) => (config[member] ? [[ENTRY[member], config[member]] as const] : []));
  return {
    settings: {
      ...(Object.fromEntries(fields) as unknown as RunConfig),
      ...(!asksForNothing(login) && { remote_auth_config: login }),
    },
    annotations: {
      ...Object.fromEntries(texts),
      ...(!asksForNothing(headers) && { [HEADERS]: JSON.stringify(headers) }),
    },
  };
}

/** Returns the members that the annotations of a workload hold. */
export function descriptionOf(annotations: Annotations = {}): Partial<RunConfig> {
  const headers = headersOf(annotations[HEADERS]);
  const named = ENTRY_MEMBERS.flatMap((member) => {
    const text = annotations[ENTRY[member]];
    return text ? [[member, text] as const] : [];
  });
  return { ...Object.fromEntries(named), ...(headers && { remote_auth_config: { headers } }) };
}

/** Returns undefined for text that another program has written and that holds no headers. */
function headersOf(text: string | undefined): Headers | undefined {
  if (text === undefined) return undefined;
  try {
    const headers: unknown = JSON.parse(text);
    return Value.Check(HeadersSchema, headers) ? headers : undefined;
  } catch {
    return undefined;
  }
}
