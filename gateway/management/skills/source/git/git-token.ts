/** Tokens that are sent to one host only. */
const TOKENS_OF_HOSTS: ReadonlyMap<string, string> = new Map([
  ['github.com', 'GITHUB_TOKEN'],
  ['gitlab.com', 'GITLAB_TOKEN'],
]);
/** Variable with the token for any host that the user names. */
const TOKEN_OF_ANY_HOST = 'GIT_TOKEN';
const USER = 'x-access-token';

/** Returns the `authorization` header for a git host; undefined without a token for it. */
export function gitAuthorization(
  host: string,
  env: Readonly<Record<string, string | undefined>>,
  isNamedByUser: boolean,
): string | undefined {
  const own = TOKENS_OF_HOSTS.get(host.toLowerCase());
  const token = (own !== undefined && env[own]) || (isNamedByUser && env[TOKEN_OF_ANY_HOST]);
  return token ? `Basic ${Buffer.from(`${USER}:${token}`).toString('base64')}` : undefined;
}
