import { Type } from 'typebox';
import { text } from '../../contract/optional.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { API_BASE, operationsOn, type ManagementOperation } from '../operation.ts';
import { DELETE_ERRORS, LOGIN_ERRORS, READING_ERRORS, REGISTRY_NOT_FOUND, UPDATE_ERRORS } from './errors.ts';
import { findProblem, findServer, serverLists } from './lookup.ts';
import { ServerLists, ServerLookup } from './schema/entries.ts';
import { RegistryDetail, RegistrySummary, RegistryUpdate, SOURCE_TYPES } from './schema/registry.ts';

const operation = operationsOn('registry');

/** Path with the name of a registry. */
const RegistryPath = Type.Object({
  name: Type.Literal('default', { description: 'Name of the registry: `default`.' }),
});

/** Makes the answer 404 for another name, even if the body is not valid either. */
const REGISTRY_PATH_ERRORS = { name: 'registry_not_found' } as const;

/** Operations on the registry, in the order of the documentation. To add an operation, add an entry. */
export const REGISTRY_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'listRegistries',
    method: 'GET',
    path: `${API_BASE}/registry`,
    summary: 'List the registries',
    input: {},
    success: { status: 200, body: Type.Object({ registries: Type.Array(RegistrySummary) }) },
    errors: READING_ERRORS,
    run: async ({ registry }) => ({ registries: [await registry.summary()] }),
  }),
  operation({
    id: 'addRegistry',
    method: 'POST',
    path: `${API_BASE}/registry`,
    summary: 'Add a registry',
    description: 'Always answers 501: there is one registry, `default`, whose source can be chosen.',
    input: {},
    success: { status: 201 },
    errors: {
      not_implemented: {
        status: 501,
        message: 'there is one registry: PUT /api/v1beta/registry/default chooses its source',
      },
    },
    run: () => {
      throw new OperationError('not_implemented');
    },
  }),
  operation({
    id: 'getRegistry',
    method: 'GET',
    path: `${API_BASE}/registry/{name}`,
    summary: 'Get a registry with its servers',
    input: { path: RegistryPath },
    success: { status: 200, body: RegistryDetail },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
    run: ({ registry }) => registry.detail(),
  }),
  operation({
    id: 'updateRegistry',
    method: 'PUT',
    path: `${API_BASE}/registry/{name}`,
    summary: 'Choose the source of a registry',
    description:
      'Without a source the built-in registry is used. A URL that ends in `.json` or has a query is a document, of type `url`. Any other URL is probed: a server of the MCP registry protocol has the type `api`. The login at the previous source ends.',
    input: { path: RegistryPath, body: RegistryUpdate },
    success: {
      status: 200,
      body: Type.Object({ type: Type.Enum([...SOURCE_TYPES], { description: 'Kind of the source.' }) }),
    },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: UPDATE_ERRORS,
    run: async ({ registry }, { body }) => ({ type: await registry.update(body) }),
  }),
  operation({
    id: 'deleteRegistry',
    method: 'DELETE',
    path: `${API_BASE}/registry/{name}`,
    summary: 'Delete a registry',
    description: 'The default registry cannot be deleted.',
    input: { path: RegistryPath },
    success: { status: 204 },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: DELETE_ERRORS,
    run: ({ registry }) => registry.remove(),
  }),
  operation({
    id: 'refreshRegistry',
    method: 'POST',
    path: `${API_BASE}/registry/{name}/refresh`,
    summary: 'Read a registry again',
    input: { path: RegistryPath },
    success: { status: 200, body: Type.Object({ status: Type.Literal('refreshed') }) },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
    run: async ({ registry }) => {
      await registry.refresh();
      return { status: 'refreshed' };
    },
  }),
  operation({
    id: 'listRegistryServers',
    method: 'GET',
    path: `${API_BASE}/registry/{name}/servers`,
    summary: 'List the servers of a registry',
    input: { path: RegistryPath },
    success: { status: 200, body: ServerLists },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: { ...REGISTRY_NOT_FOUND, ...READING_ERRORS },
    run: async ({ registry }) => serverLists(await registry.entries()),
  }),
  operation({
    id: 'getRegistryServer',
    method: 'GET',
    path: `${API_BASE}/registry/{name}/servers/{serverName}`,
    summary: 'Get a server of a registry',
    description: 'A name without a slash also finds the only server that ends in `/NAME`.',
    input: {
      path: Type.Object({
        ...RegistryPath.properties,
        serverName: Type.String({ minLength: 1, description: 'Name of the server, with its slash as `%2F`.' }),
      }),
    },
    success: { status: 200, body: ServerLookup },
    pathErrors: REGISTRY_PATH_ERRORS,
    errors: {
      ...REGISTRY_NOT_FOUND,
      server_not_found: { status: 404, message: 'Server not found: GET the servers of the registry lists them' },
      ...READING_ERRORS,
    },
    run: async ({ registry }, { path: { serverName } }) => {
      const entries = await registry.entries();
      const found = findServer(entries, serverName);
      if (!found) throw new OperationError('server_not_found', findProblem(entries, serverName));
      return found;
    },
  }),
  operation({
    id: 'logInToRegistry',
    method: 'POST',
    path: `${API_BASE}/registry/auth/login`,
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
  }),
  operation({
    id: 'logOutOfRegistry',
    method: 'POST',
    path: `${API_BASE}/registry/auth/logout`,
    summary: 'End the login of vmcp at the registry',
    input: {},
    success: { status: 200, body: Type.Object({ status: Type.Literal('logged_out') }) },
    errors: { no_auth: LOGIN_ERRORS.no_auth },
    run: async ({ registry }) => {
      await registry.logOut();
      return { status: 'logged_out' };
    },
  }),
];
