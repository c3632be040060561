import { entry, group, secret, virtualServer, type Manifest } from '../../harness/manifests.ts';
import type { Playground } from '../playground.ts';
import { headerAuth, REMOTE } from '../resources.ts';

export type Step = (here: Playground) => Promise<unknown>;
type Verdict = readonly [status: 'True' | 'False' | 'Unknown', reason: string];

/** A condition that one change makes wrong and another change repairs. */
export interface ConditionCase {
  readonly on: readonly [kind: string, name: string];
  readonly type: string;
  readonly given: readonly Manifest[];
  readonly right: Verdict;
  readonly breaks: Step;
  readonly wrong: Verdict;
  /** Text that the message must contain. */
  readonly names: string;
  readonly heals: Step;
  /** The repaired condition, if it differs from `right`. */
  readonly healed?: Verdict;
  /** True when the change removes the credential of a backend, which replaces the pods. */
  readonly rolls?: true;
}

export const VMCP = ['VirtualMCPServer', 'tools'] as const;
export const SERVER = ['MCPServer', 'web'] as const;
export const ENTRY = ['MCPServerEntry', 'remote'] as const;
/** A well-formed URL that is rejected in a cluster: an address of the pod itself. */
export const LOOPBACK = 'https://127.0.0.1/token';

export const patch =
  (kind: string, name: string, change: unknown): Step =>
  (here) =>
    here.patch(kind, name, change);
export const spec =
  ([kind, name]: readonly [string, string], change: unknown): Step =>
  (here) =>
    here.patch(kind, name, { spec: change });
export const create =
  (...manifests: readonly Manifest[]): Step =>
  (here) =>
    here.create(...manifests);
export const remove =
  (kind: string, name: string): Step =>
  (here) =>
    here.remove(kind, name);

export const tools = (fields: Readonly<Record<string, unknown>> = {}): Manifest[] => [
  group(),
  virtualServer({}, { name: 'tools', ...fields }),
];
/** Returns `tools` with the entry `remote` accepted by name. */
export const accepting = (outgoingAuth: object = {}): Manifest[] =>
  tools({ outgoingAuth: { backends: { remote: { type: 'discovered' } }, ...outgoingAuth } });
export const remote = (fields: Readonly<Record<string, unknown>> = {}): Manifest =>
  entry('remote', REMOTE, 'streamable-http', fields);
export const by = (name: string) => ({ externalAuthConfigRef: { name } });
export const keyed = (): Manifest[] => [secret('key', { value: 'x' }), headerAuth('auth', 'key')];
export const exchange = (tokenUrl: string) => ({ tokenExchange: { tokenUrl } });
export const exchangeConfig = (): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: { type: 'tokenExchange', ...exchange('https://sts.example.com/token') },
});
