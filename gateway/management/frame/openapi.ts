import type { TObject, TSchema } from 'typebox';
import { COMMON_ERRORS } from './common-failures.ts';
import { STREAM_LIMIT_ERROR } from './error-answers.ts';
import { NamedSchemas, pascalCase, type Json } from './named-schemas.ts';
import { TAGS, type ManagementError, type ManagementOperation, type Success } from '../operation.ts';

const StructuredError = {
  title: 'Error',
  type: 'object',
  required: ['code', 'message'],
  properties: {
    code: { type: 'string', description: 'Stable code of the error.' },
    message: { type: 'string', description: 'The problem, and how to solve it.' },
  },
};

const Problem = {
  title: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable code of the error.' },
  },
};

/** Answer of the checks before an operation: Host, Origin and token. */
const Refusal = {
  title: 'Refusal',
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'Stable code of the error.' },
    message: { type: 'string' },
    error_description: { type: 'string', description: 'Present when a token is missing or not valid. RFC 6750.' },
  },
};

const TAG_DESCRIPTIONS: Readonly<Record<(typeof TAGS)[number], string>> = {
  clients: 'MCP clients on this machine and the entries of vmcp in their configuration files.',
  groups: 'Groups of workloads, clients and skills.',
  registry: 'Catalogues of MCP servers and skills.',
  secrets: 'Secrets for workloads. No operation returns a value.',
  skills: 'Installed skills.',
  workloads: 'MCP servers that vmcp runs, and remote ones that it forwards to.',
  policies: 'Decisions of the policies of a virtual server.',
  server: 'vmcp itself.',
};

/** Describes operations as an OpenAPI 3.1 document. Pure. */
export function openApiOf(operations: readonly ManagementOperation[], version: string): Json {
  const byPath = Map.groupBy(operations, ({ path }) => path);
  const used = new Set(operations.map(({ tag }) => tag));
  const schemas = new NamedSchemas();
  // Answers come first: a schema that a request repeats is named after the answer.
  const responses = new Map(operations.map((operation) => [operation, responsesOf(operation, schemas)]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'vmcp management API',
      version,
      description: 'Manages workloads, clients, registries, secrets and skills of one vmcp process.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8080', description: 'Default address of vmcp serve and vmcp up.' }],
    security: [{}, { bearer: [] }],
    tags: TAGS.filter((tag) => used.has(tag)).map((name) => ({ name, description: TAG_DESCRIPTIONS[name] })),
    paths: Object.fromEntries(
      [...byPath].map(([path, same]) => [
        path,
        Object.fromEntries(
          same.map((operation) => [
            operation.method.toLowerCase(),
            { ...describe(operation, schemas), responses: responses.get(operation) },
          ]),
        ),
      ]),
    ),
    components: {
      schemas: schemas.all(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Required when `vmcp serve` has `auth`.' },
      },
    },
  };
}

/** An operation with the errors that it declares. */
export interface DescribedOperation {
  readonly operation: ManagementOperation;
  readonly errors: readonly CodedError[];
}

/** Operations of each resource, in the order of the documentation. */
export const operationsByTag = (operations: readonly ManagementOperation[]) =>
  TAGS.map((tag) => ({
    tag,
    description: TAG_DESCRIPTIONS[tag],
    operations: operations
      .filter((operation) => operation.tag === tag)
      .map((operation): DescribedOperation => ({ operation, errors: ownErrorsOf(operation) })),
  })).filter(({ operations: same }) => same.length > 0);

function describe({ id, tag, summary, description, input }: ManagementOperation, schemas: NamedSchemas): Json {
  const parameters = [...parametersOf('path', input.path), ...parametersOf('query', input.query)].map(
    ({ schema, ...parameter }) => ({
      ...parameter,
      schema: schemas.refer(schema as Json, pascalCase(`${id}-${String(parameter['name'])}`)),
    }),
  );
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(input.body && {
      requestBody: { required: true, content: jsonOf(schemas.add(input.body, `${pascalCase(id)}Request`)) },
    }),
  };
}

function parametersOf(place: 'path' | 'query', schema: TObject | undefined): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema & { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    // Any text is accepted for a flag: clients send true or false.
    schema: 'type' in rest && Array.isArray(rest.type) ? { ...rest, type: 'boolean' } : rest,
  }));
}

function responsesOf(operation: ManagementOperation, schemas: NamedSchemas): Json {
  const { id, success } = operation;
  const headers = headersOf(success);
  const answers = Map.groupBy(allErrors(operation), ({ status }) => status);
  return {
    [String(success.status)]: {
      description: success.body === undefined && success.hasLines !== true ? 'Done.' : 'The result.',
      ...(success.body && { content: jsonOf(schemas.add(success.body, `${pascalCase(id)}Result`)) }),
      ...(success.hasLines === true && { content: LINES }),
      ...(Object.keys(headers).length > 0 && { headers }),
    },
    ...Object.fromEntries(
      [...answers].map(([status, errors]) => [String(status), errorResponse(operation, errors, schemas)]),
    ),
  };
}

const LINES = {
  'text/plain': { schema: { type: 'string', description: 'Lines.' } },
  'text/event-stream': { schema: { type: 'string', description: 'One event for each line.' } },
};

const headersOf = ({ location, headers = {} }: Success): Json => ({
  ...(location && { Location: { schema: { type: 'string' } } }),
  ...Object.fromEntries(
    Object.entries(headers).map(([name, { description }]) => [name, { description, schema: { type: 'string' } }]),
  ),
});

type CodedError = ManagementError & { readonly code: string };

const REFUSALS: readonly CodedError[] = [
  { code: 'invalid_token', status: 401, message: 'a valid bearer token is needed' },
  { code: 'forbidden', status: 403, message: 'the Host, the Origin or the token is not allowed' },
];

const ownErrorsOf = ({ errors, hasStructuredErrors: isStructured = false }: ManagementOperation): CodedError[] =>
  Object.entries(errors).map(([code, error]) => ({ isStructured, ...error, code }));

/** Errors of the place where vmcp runs, of all operations except those of `server`. */
export const SHARED_ERRORS: readonly CodedError[] = Object.entries(COMMON_ERRORS).map(([code, error]) => ({
  code,
  ...error,
}));

/** The registry protocol has one code for 500. */
const sharedErrorsOf = ({
  tag,
  errors,
  hasStructuredErrors = false,
}: Omit<ManagementOperation, 'input'>): CodedError[] =>
  SHARED_ERRORS.filter(
    ({ code, status }) => tag !== 'server' && !Object.hasOwn(errors, code) && !(hasStructuredErrors && status === 500),
  );

function allErrors({ input, ...operation }: ManagementOperation): CodedError[] {
  const reads = input.path ?? input.query ?? input.body;
  return [
    ...ownErrorsOf({ input, ...operation }),
    ...(reads ? [{ code: 'bad_request', status: 400, message: 'the request does not fit its schema' }] : []),
    ...REFUSALS,
    ...(input.body ? [{ code: 'body_too_large', status: 413, message: 'the body is longer than 1 MiB' }] : []),
    ...(operation.success.hasLines === true ? [STREAM_LIMIT_ERROR] : []),
    ...sharedErrorsOf(operation),
    { code: 'internal_error', status: 500, message: 'an error of vmcp, whose log has the cause' },
    { code: 'timeout', status: 504, message: `no result after ${String((operation.timeoutMs ?? 60_000) / 1000)} s` },
  ];
}

function errorResponse(operation: ManagementOperation, errors: readonly CodedError[], schemas: NamedSchemas): Json {
  const { hasStructuredErrors = false } = operation;
  const own = errors.filter((error) => !REFUSALS.includes(error));
  const isText = !hasStructuredErrors && own.some(({ isStructured = false }) => !isStructured);
  const members = Object.fromEntries(own.flatMap(({ members: added = {} }) => Object.entries(added)));
  const add = (schema: ErrorSchema): Json => schemas.add(withMembers(schema, members, answerName(operation, errors)));
  const json = [
    ...(own.some(({ isStructured = hasStructuredErrors }) => isStructured) ? [add(StructuredError)] : []),
    ...(own.length < errors.length ? [schemas.add(Refusal)] : []),
  ];
  return {
    description: errors.map(({ code, message }) => `\`${code}\`: ${message}.`).join(' '),
    content: {
      ...(isText && { 'text/plain': { schema: { type: 'string' } } }),
      ...(json[0] && jsonOf(json.length === 1 ? json[0] : schemas.addUnion(json))),
      ...(own.length > 0 && { 'application/problem+json': { schema: add(Problem) } }),
    },
  };
}

type ErrorSchema = typeof StructuredError | typeof Problem;

/** Returns the name of an answer of an operation, such as `CreateWorkload422`. */
const answerName = ({ id }: ManagementOperation, [error]: readonly CodedError[]): string =>
  pascalCase(id) + String(error?.status ?? '');

/** Returns the schema of an error. An answer with further members has a schema of its own, named after the answer. */
const withMembers = ({ title, properties, ...schema }: ErrorSchema, members: Json, answer: string): Json =>
  Object.keys(members).length === 0
    ? { title, properties, ...schema }
    : { title: answer + title, properties: { ...properties, ...members }, ...schema };

const jsonOf = (schema: Json): Json => ({ 'application/json': { schema } });
