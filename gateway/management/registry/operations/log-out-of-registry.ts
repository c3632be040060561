import { Type } from 'typebox';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { LOGIN_ERRORS } from '../registry-errors.ts';

export const logOutOfRegistry = defineManagementOperation({
  id: 'logOutOfRegistry',
  method: 'POST',
  path: `${API_BASE}/registry/auth/logout`,
  tag: 'registry',
  summary: 'End the login of vmcp at the registry',
  input: {},
  success: { status: 200, body: Type.Object({ status: Type.Literal('logged_out') }) },
  errors: { no_auth: LOGIN_ERRORS.no_auth },
  run: async ({ registry }) => {
    await registry.logOut();
    return { status: 'logged_out' };
  },
});
