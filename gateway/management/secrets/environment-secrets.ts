/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'VMCP_SECRET_';

/** Returns the secret that a variable of the process holds. An empty variable counts as absent. */
export const environmentSecret = (env: Environment, name: string): string | undefined =>
  env[`${PREFIX}${name}`] || undefined;
