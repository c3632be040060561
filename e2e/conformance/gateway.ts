import { openSession } from '../harness/clients/raw.ts';
import { gatewayOver, type Manifest } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';

/** Starts a gateway without prefixes, waits until it lists the tools of its only backend, and returns its URL. */
export async function gatewayOverFixture(owner: Scope, backend: Manifest): Promise<string> {
  const config = { aggregation: { conflictResolution: 'none' } };
  const { url } = await startVmcp(owner, { files: gatewayOver([backend], config) });
  const session = await openSession(url);
  await eventually('the fixture is listed', async () => (await session.tools()).includes('test_simple_text'));
  return url;
}
