import { OperationError } from '../../../http/endpoint/request-error.ts';
import { withEntry, type RegistryEntry } from '../../definition/registry-entry.ts';
import type { NewWorkload, WorkloadSettings } from '../../definition/settings.ts';
import type { WorkloadServices } from '../../services.ts';

/** Name of a registry entry; an image with a tag or a host is none. */
const ENTRY_NAME = /^[\w.-]+(?:\/[\w.-]+)?$/u;

/** Returns the settings of a new workload with the defaults of its registry entry, and the entry. Throws `server_not_found`. */
export async function withRegistryDefaults(
  { name: _name, registry, server, ...settings }: NewWorkload,
  findServer: WorkloadServices['findServer'],
): Promise<{ readonly settings: WorkloadSettings; readonly entry?: RegistryEntry }> {
  if ((registry === undefined) !== (server === undefined))
    throw new OperationError('invalid_workload', 'registry and server belong together: set both or none');
  if (registry !== undefined && server !== undefined) {
    const entry = await findServer(registry, server);
    if (!entry) throw new OperationError('server_not_found');
    return { settings: withEntry(settings, entry), entry };
  }
  const { image = '' } = settings;
  const entry = ENTRY_NAME.test(image) ? await findServer('default', image).catch(() => undefined) : undefined;
  return entry ? { settings: withEntry(settings, entry), entry } : { settings };
}
