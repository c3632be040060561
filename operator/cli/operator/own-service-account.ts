import type { OwnerReference } from '../../../gateway/kube/resource.ts';

interface Claims {
  readonly 'kubernetes.io'?: {
    readonly namespace?: string;
    readonly serviceaccount?: { readonly name?: string; readonly uid?: string };
  };
}

/**
 * The ServiceAccount that an `Authorization` header speaks for, as the owner of what lives as long as it; undefined where
 * it is none of this namespace. The token is not verified: it is our own.
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
