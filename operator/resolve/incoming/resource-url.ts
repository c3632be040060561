import type { Report, Scope } from '../scope.ts';

/** Candidates for the URL that clients call: a field, else an audience that is a URL. */
export interface PublicUrl {
  readonly url: string | undefined;
  readonly path: string;
  readonly audience: string | undefined;
}

/**
 * Returns the RFC 9728 `resource` of a server. Undefined in local mode without a field: the URL then follows from the
 * port on which the gateway listens.
 */
export function resolveResourceUrl(
  { url, path, audience }: PublicUrl,
  scope: Scope,
  report: Report,
): string | undefined {
  if (url !== undefined) return checkPublicUrl(url, path, report);
  if (audience !== undefined && isPublicUrl(audience)) return audience;
  if (scope.platform.mode === 'local') return undefined;
  const { endpoint } = scope;
  const message = `clients outside of the cluster receive ${endpoint} as the resource to log in for: set resourceUrl to the public URL of this server`;
  report.warning('ResourceURLUnset', 'spec.incomingAuth', message);
  return endpoint;
}

export const isPublicUrl = (text: string): boolean => publicUrlFault(text) === undefined;

function checkPublicUrl(text: string, path: string, report: Report): string {
  const fault = publicUrlFault(text);
  if (fault) report.problem(fault.reason, path, fault.message);
  return text;
}

function publicUrlFault(text: string): { reason: string; message: string } | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    return { reason: 'InvalidUrl', message: 'not an http or https URL: write https://HOST/mcp' };
  }
  if (url.username !== '' || url.password !== '') {
    return { reason: 'CredentialsInUrl', message: 'the URL contains a user name or password: remove it' };
  }
  if (!text.includes('#')) return undefined;
  return { reason: 'InvalidUrl', message: 'a resource URL has no fragment: remove the # and the text after it' };
}
