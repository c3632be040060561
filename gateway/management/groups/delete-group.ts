import { API_BASE, defineManagementOperation } from '../operation.ts';
import { GROUP_NOT_FOUND, GroupPath } from './group.ts';

export const deleteGroup = defineManagementOperation({
  id: 'deleteGroup',
  method: 'DELETE',
  path: `${API_BASE}/groups/{name}`,
  tag: 'groups',
  summary: 'Delete a group',
  description: 'Its clients are no longer registered in it. Its skills stay installed.',
  input: { path: GroupPath },
  success: { status: 204 },
  errors: {
    default_group: { status: 400, message: 'the default group cannot be deleted' },
    group_not_found: GROUP_NOT_FOUND,
  },
  run: ({ groups, clients }, { path: { name } }) =>
    groups.remove(name, (document, { registered_clients }) =>
      clients.withoutClients(document, registered_clients, [name]),
    ),
});
