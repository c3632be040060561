import { Type } from 'typebox';
import { isObject } from '../../contract/json.ts';
import { API_BASE, operationsOn, type ManagementOperation } from '../operation.ts';

const operation = operationsOn('server');

const Resource = Type.Object({
  path: Type.String({ description: 'Path, with its parameters in braces.' }),
  methods: Type.Array(Type.String(), { description: 'HTTP methods of the path.' }),
  summary: Type.String({ description: 'Summary of its first method.' }),
});

/** Operations on vmcp itself, in the order of the documentation. To add an operation, add an entry. */
export const SERVER_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'getHealth',
    method: 'GET',
    path: '/health',
    summary: 'Check that the API answers',
    input: {},
    success: {
      status: 204,
      headers: {
        'X-Server-Nonce': {
          description: 'Random text of this process. Another text means that vmcp has restarted.',
          value: ({ nonce }) => nonce,
        },
      },
    },
    errors: {},
    run: () => undefined,
  }),
  operation({
    id: 'getVersion',
    method: 'GET',
    path: `${API_BASE}/version`,
    summary: 'Get the version of vmcp',
    input: {},
    success: { status: 200, body: Type.Object({ version: Type.String() }, { title: 'Version' }) },
    errors: {},
    run: ({ version }) => ({ version }),
  }),
  operation({
    id: 'getIndex',
    method: 'GET',
    path: API_BASE,
    summary: 'List the paths of the API',
    input: {},
    success: {
      status: 200,
      body: Type.Object({
        version: Type.String({ description: 'Version of vmcp.' }),
        openapi: Type.String({ description: 'Path of the OpenAPI document.' }),
        resources: Type.Array(Resource, { description: 'Paths of the API, sorted.' }),
      }),
    },
    errors: {},
    run: ({ version, openApi }) => ({ version, openapi: '/api/openapi.json', resources: resourcesOf(openApi()) }),
  }),
  operation({
    id: 'getOpenApi',
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'Get this document',
    input: {},
    success: { status: 200, body: Type.Object({}, { title: 'OpenApiDocument', description: 'OpenAPI 3.1 document.' }) },
    errors: {},
    run: ({ openApi }) => openApi(),
  }),
];

/** Lists the paths of an OpenAPI document. */
function resourcesOf(document: unknown) {
  const paths = isObject(document) && isObject(document['paths']) ? document['paths'] : {};
  return Object.entries(paths)
    .map(([path, operations]) => {
      const byMethod = Object.entries(isObject(operations) ? operations : {}).filter(([, one]) => isObject(one));
      const [, first] = byMethod[0] ?? [];
      const summary = isObject(first) && typeof first['summary'] === 'string' ? first['summary'] : '';
      return { path, methods: byMethod.map(([method]) => method.toUpperCase()), summary };
    })
    .toSorted((one, two) => (one.path < two.path ? -1 : 1));
}
