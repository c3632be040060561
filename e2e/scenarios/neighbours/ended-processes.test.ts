import { expect, it } from 'vitest';
import { raw } from '../../harness/clients/raw.ts';
import { gatewayOver, server } from '../../harness/manifests.ts';
import { npmRegistry, npx } from '../../harness/packages.ts';
import { eventually } from '../../harness/poll.ts';
import { printOnFailure, testScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';

interface Backend {
  readonly name: string;
  readonly health: string;
  readonly reason?: string;
}

it('shows the exit code of a server that ends at its start, and the line that names the cause', async () => {
  const scope = testScope();
  const image = npx('vmcp-fixture-crash-loop');
  const operational = {
    failureHandling: { healthCheckInterval: '1s', healthCheckTimeout: '1s', unhealthyThreshold: 2 },
  };
  const members = [server('over-stdio', image), server('over-http', image, { transport: 'streamable-http' })];
  const vmcp = await startVmcp(scope, { files: gatewayOver(members, { operational }), env: await npmRegistry(scope) });
  printOnFailure(() => vmcp.output().slice(-4_000));
  const backends = async () =>
    (JSON.parse((await raw(`${vmcp.management}/status`)).body) as { backends: readonly Backend[] }).backends;
  await eventually('both are unhealthy', async () => (await backends()).every(({ health }) => health === 'unhealthy'));
  for (const { reason } of await backends())
    expect(reason).toMatch(
      /^the process ended with code 3: .*cannot find my configuration.* \(\d+ failed in a row\)$/u,
    );
});
