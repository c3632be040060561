import type { PermissionProfile } from '../../contract/permission-profile.ts';
import type { WorkloadSettings } from './settings.ts';

/** Server of a registry, as far as it gives defaults to a workload. Either `image` or `url` is set. */
export interface RegistryEntry {
  readonly name: string;
  readonly image?: string;
  readonly url?: string;
  readonly transport?: string;
  readonly args?: readonly string[];
  readonly target_port?: number;
  readonly permissions?: PermissionProfile;
  readonly env_vars?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
    readonly secret?: boolean;
    readonly default?: string;
  }[];
  readonly headers?: WorkloadSettings['headers'];
  readonly oauth_config?: WorkloadSettings['oauth_config'];
}

/** Fills in what the settings leave out. Variables of the settings replace the defaults of the same name. */
export function withEntry(settings: WorkloadSettings, entry: RegistryEntry): WorkloadSettings {
  const { image, url, transport, args, target_port, permissions, headers, oauth_config } = entry;
  const variables = (entry.env_vars ?? []).flatMap((variable) =>
    variable.default === undefined ? [] : [[variable.name, variable.default] as const],
  );
  const defaults: WorkloadSettings = {
    ...(transport !== undefined && { transport }),
    ...(args && { cmd_arguments: [...args] }),
    ...(target_port !== undefined && { target_port }),
    ...(permissions && { permission_profile: permissions }),
    ...(headers && { headers }),
    ...(oauth_config && { oauth_config }),
  };
  return {
    ...defaults,
    ...settings,
    ...(image === undefined ? { url: url ?? '' } : { image }),
    env_vars: { ...Object.fromEntries(variables), ...settings.env_vars },
  };
}
