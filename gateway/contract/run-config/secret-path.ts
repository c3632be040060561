/** Prefix of a path that stands for a secret of the secrets provider. */
const SECRET_PATH = 'secret:';

/** Returns the path that stands for a secret of the secrets provider in the configuration of a workload's gateway. */
export const secretPath = (name: string): string => `${SECRET_PATH}${name}`;

/** Returns the name of a secret for a path of `secretPath`; undefined for the path of a file. */
export const secretOfPath = (path: string): string | undefined =>
  path.startsWith(SECRET_PATH) ? path.slice(SECRET_PATH.length) : undefined;

/** Start of the paths in a configuration that `vmcp render` prints: the state folder of the `vmcp up` that would run it. */
export const STATE_FOLDER = '$STATE';

/** Returns true for a path that names the same file in every working directory. */
export const isAbsoluteFile = (path: string): boolean => path.startsWith('/') || path.startsWith(`${STATE_FOLDER}/`);
