import { Value } from 'typebox/value';
import { Type, type Static, type TSchema } from 'typebox';
import type { PermissionProfile } from '../../../contract/container.ts';
import { EntryLogin, WorkloadSettings } from '../settings.ts';

/** Environment variable of a registry entry, or value in braces. */
interface EntryVariable {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly default?: string;
  readonly secret?: boolean;
  readonly choices?: readonly string[];
}

/** Server of a registry, as far as it gives defaults to a workload. Either `image` or `url` is set. */
export interface RegistryEntry {
  readonly name: string;
  readonly image?: string;
  readonly url?: string;
  /** URL with its variables in braces. */
  readonly url_template?: string;
  readonly variables?: readonly EntryVariable[];
  readonly package?: WorkloadSettings['package'];
  readonly transport?: string;
  readonly args?: readonly string[];
  readonly target_port?: number;
  readonly permissions?: PermissionProfile;
  readonly env_vars?: readonly EntryVariable[];
  readonly headers?: WorkloadSettings['headers'];
  readonly oauth_config?: EntryLogin;
}

/** Reason why a workload takes no program from a registry. */
export const OWN_PROGRAM =
  'a registry cannot name a program of this machine (command://): set image and cmd_arguments yourself';

/** Returns true for an entry whose publisher names a program of the user's machine. */
export const namesProgram = ({ image = '' }: Pick<RegistryEntry, 'image'>): boolean => image.startsWith('command://');

/** Settings that a workload has from its registry entry. */
export const FromRegistry = Type.Object(
  {
    server: Type.String({ description: 'Name of the registry entry.' }),
    settings: Type.Object(
      {
        ...Type.Pick(WorkloadSettings, [
          ...(['image', 'url', 'transport', 'target_port', 'cmd_arguments', 'env_vars'] as const),
          ...(['permission_profile', 'headers', 'header_forward', 'package'] as const),
        ]).properties,
        oauth_config: Type.Optional(EntryLogin),
      },
      { description: 'Settings that the entry has chosen, with their values.' },
    ),
  },
  { title: 'RegistryDefaults', description: 'Settings that came from a registry entry and not from a request.' },
);
export type FromRegistry = Static<typeof FromRegistry>;

/** Fills in what the settings leave out. Variables of the settings replace the defaults of the same name. */
export function withEntry(settings: WorkloadSettings, entry: RegistryEntry): WorkloadSettings {
  const { env_vars: variables, ...taken } = takenFrom(settings, entry);
  const { header_forward: forward } = settings;
  const headers = { ...taken.header_forward?.add_plaintext_headers, ...forward?.add_plaintext_headers };
  return {
    ...settings,
    ...taken,
    ...((forward ?? taken.header_forward) && { header_forward: { ...forward, add_plaintext_headers: headers } }),
    env_vars: { ...variables, ...settings.env_vars },
  };
}

/** Returns the settings that a workload takes from its entry: those that the request leaves out, and the image or URL. Pure. */
export function takenFrom(settings: WorkloadSettings, entry: RegistryEntry): WorkloadSettings {
  const { image, url, transport, args, target_port } = entry;
  const variables = defaultsOf(entry).filter(([name]) => !Object.hasOwn(settings.env_vars ?? {}, name));
  const headers = headerDefaults(settings, entry);
  const defaults: WorkloadSettings = {
    ...(entry.package && { package: entry.package }),
    ...(transport !== undefined && { transport }),
    ...(args && { cmd_arguments: [...args] }),
    ...(target_port !== undefined && { target_port }),
    ...(entry.permissions && { permission_profile: profileOf(entry) }),
    ...(entry.headers && { headers: declared(WorkloadSettings.properties.headers, entry.headers) }),
    ...(entry.oauth_config && { oauth_config: declared(EntryLogin, entry.oauth_config) }),
  };
  const missing = Object.entries(defaults).filter(([name]) => settings[name as keyof WorkloadSettings] === undefined);
  return {
    ...Object.fromEntries(missing),
    ...(image === undefined ? { url: url ?? '' } : { image }),
    ...(variables.length > 0 && { env_vars: Object.fromEntries(variables) }),
    ...(headers.length > 0 && { header_forward: { add_plaintext_headers: Object.fromEntries(headers) } }),
  };
}

/** Lists the headers that have a value in the entry, but not in the request. */
function headerDefaults({ header_forward: forward = {} }: WorkloadSettings, { headers = [] }: RegistryEntry) {
  const { add_plaintext_headers: plain = {}, add_headers_from_secret: secret = {} } = forward;
  const given = new Set([plain, secret].flatMap((map) => Object.keys(map).map((name) => name.toLowerCase())));
  return headers.flatMap(({ name, default: value }): [string, string][] =>
    value === undefined || given.has(name.toLowerCase()) ? [] : [[name, value]],
  );
}

/** Lists the variables for which the entry has a value. */
export const defaultsOf = ({ env_vars: variables = [] }: Pick<RegistryEntry, 'env_vars'>): [string, string][] =>
  variables.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]]));

/** Returns the profile of an entry; empty without one. */
export const profileOf = ({ permissions = {} }: Pick<RegistryEntry, 'permissions'>): PermissionProfile =>
  declared(WorkloadSettings.properties.permission_profile, permissions);

/**
 * Removes the members that the schema does not have. A publisher chooses all members of an entry: a run configuration has more,
 * such as files and secrets of the user that a login sends.
 */
const declared = <Shape>(schema: TSchema, value: Shape): Shape => Value.Clean(schema, structuredClone(value)) as Shape;
