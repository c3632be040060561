import { TokenRefused } from '../refusal.ts';
import { isObject, type JsonObject } from '../../contract/json.ts';

/** Service accounts whose tokens are accepted; undefined means all. */
export interface ServiceAccountLimits {
  /** `NAME`, `NAMESPACE:NAME`, `NAMESPACE/NAME` or the whole subject. */
  readonly serviceAccount: string | undefined;
  readonly namespace: string | undefined;
  /** Namespace of the virtual server: applies to a bare `NAME` when `namespace` is absent. */
  readonly ownNamespace: string | undefined;
}

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Rejects tokens of other accounts, and tokens whose claims contradict each other. */
export const serviceAccountRule =
  ({ serviceAccount, namespace, ownNamespace }: ServiceAccountLimits) =>
  (claims: JsonObject): void => {
    const subject = String(claims['sub']);
    const [, space, name] = SUBJECT.exec(subject) ?? [];
    if (space === undefined || name === undefined) throw new TokenRefused('service_account');
    // A bare name matches in one namespace only.
    const bare = space === (namespace ?? ownNamespace) ? [name] : [];
    const spellings = [...bare, `${space}:${name}`, `${space}/${name}`, subject];
    if (serviceAccount !== undefined && !spellings.includes(serviceAccount)) throw new TokenRefused('service_account');
    if (namespace !== undefined && namespace !== space) throw new TokenRefused('service_account');
    if (!agrees(claims['kubernetes.io'], space, name)) throw new TokenRefused('service_account');
  };

/** Returns true when the claim is absent: other issuers use the same form of subject without it. */
function agrees(bound: unknown, namespace: string, name: string): boolean {
  if (bound === undefined) return true;
  if (!isObject(bound)) return false;
  const { namespace: space, serviceaccount: account } = bound;
  const accountName = isObject(account) ? account['name'] : undefined;
  return (space === undefined || space === namespace) && (accountName === undefined || accountName === name);
}
