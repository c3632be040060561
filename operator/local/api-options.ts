import { userFolders } from './user-folders.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the options of the management API that this process serves. */
export const apiOptions = (stateDir: string, env: Environment, platform: string) => ({
  stateDir,
  folders: userFolders(env, platform),
  registry: { isReadOnly: env['VMCP_REGISTRY_READ_ONLY'] === '1' },
});
