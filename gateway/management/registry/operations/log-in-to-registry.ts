import { Type } from 'typebox';
import { text } from '../../../contract/optional.ts';
import { API_BASE, defineManagementOperation } from '../../operation.ts';
import { LOGIN_ERRORS } from '../registry-errors.ts';

export const logInToRegistry = defineManagementOperation({
  id: 'logInToRegistry',
  method: 'POST',
  path: `${API_BASE}/registry/auth/login`,
  tag: 'registry',
  summary: 'Start the login of vmcp at the registry',
  description:
    'Open `authorization_url` in a browser on the machine of vmcp. After the login, `auth_status` of the registry is `authenticated`.',
  input: {},
  success: {
    status: 200,
    body: Type.Object({
      status: Type.Enum(['authenticated', 'pending'], { description: '`authenticated`: vmcp is logged in already.' }),
      authorization_url: text('Page of the login, for `pending`.'),
      expires_at: text('End of the login attempt, for `pending`.'),
    }),
  },
  errors: LOGIN_ERRORS,
  run: async ({ registry }) => {
    const pending = await registry.logIn();
    if (!pending) return { status: 'authenticated' };
    const { authorizationUrl, expiresAt } = pending;
    return { status: 'pending', authorization_url: authorizationUrl, expires_at: new Date(expiresAt).toISOString() };
  },
});
