import { storeFacts } from '../../../gateway/authserver/storage/index.ts';
import type { Report } from '../scope.ts';
import type { MCPServer } from '../snapshot.ts';

type Spec = MCPServer['spec'];

/** Field of an MCPServer that a gateway in front of the server enforces. */
export interface Control {
  readonly field: keyof Spec;
  /** Field of a VirtualMCPServer with the same meaning, below `spec`. */
  readonly counterpart: string;
  /** Returns true for a value that asks for nothing. */
  readonly isInert?: (value: unknown) => boolean;
}

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null)?.[name];
const isOff = (value: unknown): boolean => member(value, 'enabled') !== true;
const isMemory = (value: unknown): boolean => {
  const provider = member(value, 'provider');
  return typeof provider === 'string' && !storeFacts(provider).isShared;
};

/** Controls of a single MCPServer. A server that sets one gets its own gateway. */
export const CONTROLS: readonly Control[] = [
  { field: 'audit', counterpart: 'config.audit', isInert: isOff },
  { field: 'authServerRef', counterpart: 'authServerConfig' },
  { field: 'authzConfig', counterpart: 'incomingAuth.authzConfig' },
  { field: 'authzConfigRef', counterpart: 'incomingAuth.authzConfigRef' },
  { field: 'oidcConfigRef', counterpart: 'incomingAuth.oidcConfigRef' },
  { field: 'rateLimiting', counterpart: 'config.rateLimiting' },
  { field: 'sessionStorage', counterpart: 'sessionStorage', isInert: isMemory },
  { field: 'telemetryConfigRef', counterpart: 'telemetryConfigRef' },
  { field: 'webhookConfigRef', counterpart: 'webhookConfigRef' },
];

const controlsOf = (spec: Spec): Control[] =>
  CONTROLS.filter(({ field, isInert }) => spec[field] !== undefined && isInert?.(spec[field]) !== true);

/** Returns true for a server that has its own gateway in a cluster. */
export const hasOwnGateway = ({ spec }: Pick<MCPServer, 'spec'>): boolean => controlsOf(spec).length > 0;

/** Returns true when the gateway of the server accepts only clients with a token. */
export const authenticatesClients = ({ spec }: MCPServer): boolean => spec.oidcConfigRef !== undefined;

/** Reason of a control that nothing applies in local mode. */
export const CONTROL_NEEDS_CLUSTER = 'ControlNeedsCluster';

/** Reports each control of a single server in local mode, where no gateway is in front of it that would apply them. */
export function reportControls({ spec }: MCPServer, report: Report): void {
  for (const { field, counterpart } of controlsOf(spec)) {
    const message = `in local mode a single server has no address of its own, so nothing would apply this: set spec.${counterpart} of the VirtualMCPServer, or remove this field`;
    report.problem(CONTROL_NEEDS_CLUSTER, `spec.${field}`, message);
  }
}
