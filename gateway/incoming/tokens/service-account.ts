import { TokenRefused } from '../refusal.ts';
import { isObject, type JsonObject } from '../../contract/json.ts';

/** Whose service account tokens are accepted; undefined: everybody's. */
export interface ServiceAccountLimits {
  /** `NAME`, `NAMESPACE:NAME`, `NAMESPACE/NAME` or the whole subject. */
  readonly serviceAccount: string | undefined;
  readonly namespace: string | undefined;
  /** Namespace of the virtual server: that of a bare `NAME` where `namespace` is absent. */
  readonly ownNamespace: string | undefined;
}

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Refuses what is no service account token, or one that is not wanted. Claims must agree with each other. */
export const serviceAccountRule =
  ({ serviceAccount, namespace, ownNamespace }: ServiceAccountLimits) =>
  (claims: JsonObject): void => {
    const subject = String(claims['sub']);
    const [, space, name] = SUBJECT.exec(subject) ?? [];
    if (space === undefined || name === undefined) throw new TokenRefused('service_account');
    // A bare name means one account: that of a single namespace.
    const bare = space === (namespace ?? ownNamespace) ? [name] : [];
    const spellings = [...bare, `${space}:${name}`, `${space}/${name}`, subject];
    if (serviceAccount !== undefined && !spellings.includes(serviceAccount)) throw new TokenRefused('service_account');
    if (namespace !== undefined && namespace !== space) throw new TokenRefused('service_account');
    if (!agrees(claims['kubernetes.io'], space, name)) throw new TokenRefused('service_account');
  };

/** The claim is absent from tokens of other makers that follow the same form of subject. */
function agrees(bound: unknown, namespace: string, name: string): boolean {
  if (bound === undefined) return true;
  if (!isObject(bound)) return false;
  const { namespace: space, serviceaccount: account } = bound;
  const accountName = isObject(account) ? account['name'] : undefined;
  return (space === undefined || space === namespace) && (accountName === undefined || accountName === name);
}
