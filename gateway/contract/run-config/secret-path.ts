/** Prefix of a path that stands for a secret of the secrets provider. */
const SECRET_PATH = 'secret:';

/** Returns the path that stands for a secret of the secrets provider in the configuration of a workload's gateway. */
export const secretPath = (name: string): string => `${SECRET_PATH}${name}`;

/** Returns the name of a secret for a path of `secretPath`; undefined for the path of a file. */
export const secretOfPath = (path: string): string | undefined =>
  path.startsWith(SECRET_PATH) ? path.slice(SECRET_PATH.length) : undefined;
