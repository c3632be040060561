import type { OwnerReference } from '../../../gateway/kube/resource.ts';

interface Claims {
  readonly 'kubernetes.io'?: {
    readonly namespace?: string;
    readonly serviceaccount?: { readonly name?: string; readonly uid?: string };
  };
}

/**
 * Returns the ServiceAccount of an `Authorization` header as an owner reference; undefined for an account of another
 * namespace. The token is not verified, because it is the operator's own.
 */
export function ownServiceAccount(authorization: string | undefined, namespace: string): OwnerReference | undefined {
  const payload = /^Bearer [^.]+\.([^.]+)\./u.exec(authorization ?? '')?.[1];
  const claims = payload === undefined ? undefined : claimsIn(payload);
  const { namespace: own, serviceaccount: { name, uid } = {} } = claims?.['kubernetes.io'] ?? {};
  if (own !== namespace || name === undefined || uid === undefined) return undefined;
  return { apiVersion: 'v1', kind: 'ServiceAccount', name, uid };
}

function claimsIn(payload: string): Claims | undefined {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims;
  } catch {
    return undefined;
  }
}
