import type { Logger } from '../../contract/logger.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { confirmationRequired, wideningOf } from '../definition/confirmation/entry-access.ts';
import { openValues, valueFault, withValues } from '../definition/entry/entry-variables.ts';
import {
  namesProgram,
  OWN_PROGRAM,
  takenFrom,
  withEntry,
  type FromRegistry,
  type RegistryEntry,
} from '../definition/entry/registry-entry.ts';
import type { NewWorkload, WorkloadSettings } from '../definition/settings.ts';
import type { WorkloadServices } from '../services.ts';

export interface RegistryDefaultsDeps extends Pick<WorkloadServices, 'findServer'> {
  readonly log: Pick<Logger, 'info'>;
}

/** Name of a registry entry; an image with a tag or a host is none. */
const ENTRY_NAME = /^[\w.-]+(?:\/[\w.-]+)?$/u;

/** Longest text of settings in a line of the log; the names of longer ones remain. */
const MAX_LOGGED = 4_096;

/**
 * Returns the settings of a new workload with the defaults of its registry entry, and logs them before anything runs. Throws
 * `server_not_found`, and `confirmation_required` for access that the request does not repeat.
 */
export async function withRegistryDefaults(
  { name, ...request }: NewWorkload,
  { findServer, log }: RegistryDefaultsDeps,
): Promise<{ readonly settings: WorkloadSettings; readonly from?: FromRegistry }> {
  const { registry: _registry, server: _server, variables = {}, ...settings } = request;
  const entry = await entryOf(request, findServer);
  if (!entry && Object.keys(variables).length > 0)
    throw new OperationError('invalid_workload', 'only a registry entry has variables: remove "variables"');
  if (!entry) return { settings };
  if (namesProgram(entry)) throw new OperationError('invalid_workload', `registry entry ${entry.name}: ${OWN_PROGRAM}`);
  const fault = valueFault(entry, settings, variables);
  if (fault !== undefined) throw new OperationError('invalid_workload', `registry entry ${entry.name} ${fault}`);
  const taken = takenFrom(settings, withValues(entry, openValues(entry, variables)));
  const widening = wideningOf(settings, taken);
  if (widening) throw confirmationRequired(widening);
  const from = { server: entry.name, settings: taken };
  logTaken(log, name, from);
  return { settings: withEntry(settings, withValues(entry, variables)), from };
}

async function entryOf(
  { registry, server, image = '' }: Omit<NewWorkload, 'name'>,
  findServer: WorkloadServices['findServer'],
): Promise<RegistryEntry | undefined> {
  if ((registry === undefined) !== (server === undefined))
    throw new OperationError('invalid_workload', 'registry and server belong together: set both or none');
  if (registry === undefined || server === undefined)
    return ENTRY_NAME.test(image) ? findServer('default', image).catch(() => undefined) : undefined;
  const entry = await findServer(registry, server);
  if (!entry) throw new OperationError('server_not_found');
  return entry;
}

/** Logs the settings that a workload takes from its entry, before its server runs with them. */
export function logTaken(log: Pick<Logger, 'info'>, workload: string, { server, settings }: FromRegistry): void {
  const isShort = JSON.stringify(settings).length <= MAX_LOGGED;
  log.info('workload takes settings from a registry entry', {
    ...{ workload, entry: server, settings: isShort ? settings : Object.keys(settings) },
  });
}
