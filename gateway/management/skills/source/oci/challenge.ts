import { challengeParameters } from '../../../../http/challenge-parameters.ts';

/** Address of a service that issues tokens for a registry. */
export interface BearerChallenge {
  readonly realm: string;
  readonly service?: string;
  readonly scope?: string;
}

export type Challenge = BearerChallenge | 'basic' | undefined;

/** Parses the `WWW-Authenticate` header of a registry. RFC 6750 §3 */
export function parseChallenge(header: string): Challenge {
  if (/^basic\b/iu.test(header)) return 'basic';
  if (!/^bearer\b/iu.test(header)) return undefined;
  const parameters = challengeParameters(header);
  const [realm, service, scope] = [parameters.get('realm'), parameters.get('service'), parameters.get('scope')];
  if (realm === undefined) return undefined;
  return { realm, ...(service !== undefined && { service }), ...(scope !== undefined && { scope }) };
}

/** Returns the URL that issues a token. */
export function tokenUrl({ realm, service, scope }: BearerChallenge): URL | undefined {
  const url = URL.parse(realm);
  if (service !== undefined) url?.searchParams.set('service', service);
  if (scope !== undefined) url?.searchParams.set('scope', scope);
  return url ?? undefined;
}
