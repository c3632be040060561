import type { ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { ClientAssertion } from '../../../private-keys/client-assertion.ts';
import type { ClientSecret, SignedClient } from '../protocol/client-authentication.ts';
import type { UpstreamDeps } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';

type Source = Pick<ProviderConfig, 'client_secret_file' | 'client_secret_env_var'>;

/** Returns the client secret in the file or environment variable of a configuration. */
export const configuredSecret =
  (
    { client_secret_file: file, client_secret_env_var: variable }: Source,
    deps: Pick<UpstreamDeps, 'readSecret' | 'readEnvironment'>,
  ): ClientSecret =>
  () => {
    if (file === undefined && variable === undefined) return undefined;
    const secret = file === undefined ? deps.readEnvironment?.(variable ?? '') : read(file, deps);
    if (secret !== undefined && secret !== '') return secret;
    const place = file === undefined ? `environment variable ${String(variable)}` : `file ${file}`;
    throw new UpstreamError('misconfigured', `the client secret is missing: the ${place} is empty or missing`);
  };

function read(file: string, { readSecret }: Pick<UpstreamDeps, 'readSecret'>): string {
  try {
    return readSecret(file).trim();
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be read';
    throw new UpstreamError('misconfigured', `the client secret is missing: ${message}`);
  }
}

/** Returns the client with the private key of a configuration; undefined when it has no key. @param audience default of `aud`. */
export function configuredKey(
  { private_key_jwt: key }: Pick<ProviderConfig, 'private_key_jwt'>,
  audience: string,
  deps: Pick<UpstreamDeps, 'readSecret' | 'now'>,
): SignedClient | undefined {
  if (!key) return undefined;
  const assertion = new ClientAssertion(key, deps);
  return (request) =>
    assertion.parameters({ ...request, audience }).catch((error: unknown) => {
      const cause = error instanceof Error ? error.message : 'it cannot be read';
      throw new UpstreamError('misconfigured', `the private key is unusable: ${cause}`);
    });
}
