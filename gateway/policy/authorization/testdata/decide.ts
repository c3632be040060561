import { Secret, type Identity } from '../../../contract/identity.ts';
import { memberTexts } from '../../../http/known-members.ts';
import { authorization } from '../../authorization.ts';
import type { ListedItem, Policy, PolicyCall } from '../../policy.ts';
import { policyDeps } from '../../testdata/policy-deps.ts';
import type { AuthorizationConfig } from '../config.ts';

type Cedar = Omit<AuthorizationConfig['cedar'], 'policies'>;

export const policyOf = (policies: readonly string[], cedar: Cedar = {}, maxToolNameLength?: number): Policy =>
  authorization.create(
    { type: 'cedarv1', version: '1.0', cedar: { policies: [...policies], ...cedar } },
    { ...policyDeps(), maxToolNameLength },
  );

export const identityOf = (claims: Readonly<Record<string, unknown>> = {}): Identity => ({
  principal: '1:ialice',
  issuer: 'i',
  subject: 'alice',
  scopes: new Set(),
  token: new Secret(''),
  expiresAt: Infinity,
  claims: { sub: 'alice', ...claims },
});

export const toolOf = (name: string, annotations?: object, inputSchema?: object): ListedItem => ({
  kind: 'tools',
  name,
  backend: 'shop',
  json: Buffer.from(JSON.stringify({ name, annotations, inputSchema })),
});

const METHODS = {
  tools: 'tools/call',
  prompts: 'prompts/get',
  resources: 'resources/read',
  templates: 'completion/complete',
} as const;

/** Returns a call of an item; `args` is JSON text. */
export function callOf(item: ListedItem, identity: Identity | undefined, args?: string): PolicyCall {
  const text = args === undefined ? undefined : Buffer.from(args);
  return {
    session: { id: 's', principal: '', revision: '2025-11-25', client: { name: '', version: '' } },
    method: METHODS[item.kind],
    name: item.name,
    backend: item.backend,
    item,
    identity,
    arguments: text,
    readArguments: (isRead = () => true) => text && memberTexts(text, isRead),
    signal: new AbortController().signal,
  };
}

/** Returns true when the policy allows a call. */
export const allows = (policy: Policy, item: ListedItem, identity: Identity | undefined, args?: string): boolean => {
  const decision = policy.decide(callOf(item, identity, args));
  if (decision instanceof Promise) throw new Error('decides at once');
  return decision.verdict === 'allow';
};
