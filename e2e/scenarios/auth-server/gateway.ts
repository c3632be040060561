import { freePort } from '../../harness/free-port.ts';
import type { Scope } from '../../harness/scope.ts';
import { startVmcp, type StartOptions, type Vmcp } from '../../harness/vmcp.ts';
import { manifestsOf, mcpUrlOf, type Variant } from './manifests.ts';
import { startSurroundings, type Surroundings } from './surroundings.ts';

export interface Gateway {
  readonly issuer: string;
  /** The MCP endpoint, which is also the resource. */
  readonly url: string;
  readonly around: Surroundings;
  readonly vmcp: Vmcp;
  readonly files: Readonly<Record<string, string>>;
}

/** Creates a variant that depends on addresses of the gateway and of its surroundings. */
type VariantOf = (addresses: Pick<Gateway, 'issuer' | 'url' | 'around'>) => Variant;

/** Starts `vmcp up` on the port of its issuer. */
export async function startAuthServer(
  scope: Scope,
  given: Variant | VariantOf = {},
  more: StartOptions = {},
): Promise<Gateway> {
  const port = await freePort();
  const { issuer: behindProxy, path = '' } = typeof given === 'function' ? {} : given;
  const issuer = behindProxy ?? `http://127.0.0.1:${String(port)}${path}`;
  const around = await startSurroundings(scope, issuer);
  const url = mcpUrlOf(issuer, typeof given === 'function' ? {} : given);
  const variant = typeof given === 'function' ? given({ issuer, url, around }) : given;
  const files = { 'gateway.yaml': manifestsOf(issuer, around, variant) };
  const vmcp = await startVmcp(scope, { files, port, ...more });
  return { issuer, url, around, vmcp, files };
}

/** Stops the process and starts another one with the same files and the same state folder. */
export async function restart(scope: Scope, gateway: Gateway, more: StartOptions = {}): Promise<Gateway> {
  await gateway.vmcp.stop();
  const { port, state } = gateway.vmcp;
  const vmcp = await startVmcp(scope, { files: gateway.files, port, state, ...more });
  return { ...gateway, vmcp };
}
