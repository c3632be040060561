import { connectCluster } from './cluster.ts';

/** Waits at the end of all scenarios for their namespaces, whose pods drain meanwhile. */
export async function teardown(): Promise<void> {
  await connectCluster().namespacesDeleted();
}
