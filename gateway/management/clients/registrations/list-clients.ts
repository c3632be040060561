import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../../cluster-access.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { RegisteredClient } from './client-shapes.ts';

export const listClients = defineManagementOperation({
  id: 'listClients',
  method: 'GET',
  path: `${API_BASE}/clients`,
  tag: 'clients',
  summary: 'List the registered clients',
  input: {},
  success: { status: 200, body: Type.Array(RegisteredClient) },
  errors: CLUSTER_UNAVAILABLE,
  run: ({ clients }) => clients.list(),
});
