import { discoverClients } from './clients/registrations/discover-clients.ts';
import { listClients } from './clients/registrations/list-clients.ts';
import { registerClient } from './clients/registrations/register-client.ts';
import { registerClients } from './clients/registrations/register-clients.ts';
import { unregisterClientFromGroup } from './clients/registrations/unregister-client-from-group.ts';
import { unregisterClient } from './clients/registrations/unregister-client.ts';
import { unregisterClients } from './clients/registrations/unregister-clients.ts';
import { createGroup } from './groups/create-group.ts';
import { deleteGroup } from './groups/delete-group.ts';
import { getGroup } from './groups/get-group.ts';
import { listGroups } from './groups/list-groups.ts';
import type { ManagementOperation } from './operation.ts';
import { getOpenApi } from './server/get-openapi.ts';
import { getHealth } from './server/health.ts';
import { getVersion } from './server/version.ts';

/** Operations of the management API, in the order of the documentation. A new operation is one file and one line here. */
export const OPERATIONS: readonly ManagementOperation[] = [
  registerClient,
  registerClients,
  discoverClients,
  listClients,
  unregisterClients,
  unregisterClient,
  unregisterClientFromGroup,
  listGroups,
  createGroup,
  getGroup,
  deleteGroup,
  getHealth,
  getVersion,
  getOpenApi,
];
