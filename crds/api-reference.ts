import {
  openApiOf,
  operationsByTag,
  SHARED_ERRORS,
  type DescribedOperation,
} from '../gateway/management/frame/openapi.ts';
import type { ManagementOperation } from '../gateway/management/operation.ts';
import { cell, SchemaTables, type ApiSchema, type ApiSchemas } from './api-schemas.ts';
import { HEADER } from './reference.ts';

const INTRODUCTION = `# Management API

\`vmcp up\` serves this API on its management listener, and \`vmcp serve\` serves it alone. Each operation below links to its description.

- **For programs**: \`/api/openapi.json\`, or [openapi.json](reference/openapi.json). Generators make clients from it: oapi-codegen,
  openapi-typescript, openapi-python-client and openapi-generator (Java, Go) are known to work: \`make test\` generates clients in Go, TypeScript, Python and
  Java, and calls the API with each.
- **Requests**: a body is one JSON object of at most 1 MiB, 10,000 values, and 1,000 members in each object. Unknown members are ignored. A body that
  a browser sends must have the type \`application/json\`, else the answer is 415; programs may send any type.
- **Refusals**: a wrong \`Host\` or \`Origin\` gets 403, and a wrong token 401, before anything else, as JSON with \`error\`.
- **Errors**: plain text, or JSON with \`code\` and \`message\` where the status is marked with \\*. With \`Accept: application/problem+json\` they are
  problem details (RFC 9457).

Every operation except those of \`server\` may also answer with one of these errors, and its text has the reason and what to do. Any other
error of vmcp is 500 \`internal_error\`, and the log has its cause.

| Status | Code | Meaning |
| ------ | ---- | ------- |
${SHARED_ERRORS.map(({ code, status, message }) => `| ${String(status)} | \`${code}\` | ${message} |`).join('\n')}
`;

const RUN_CONFIGURATION = '../run-config.md';
const ROOT = 'RunConfig';

interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: ApiSchema;
}

type Content = Readonly<Record<string, { readonly schema: ApiSchema }>>;

/** Operation of the OpenAPI document. */
interface Described {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: ApiSchemas };
}

const jsonOf = (content: Content | undefined): ApiSchema | undefined => content?.['application/json']?.schema;
/** Returns the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
const titleOf = (tag: string): string => tag.slice(0, 1).toUpperCase() + tag.slice(1);
const pageOf = (tag: string): string => `${tag}.md`;

/** Writes the pages of the management API from its OpenAPI document. */
export function apiPages(operations: readonly ManagementOperation[]): { path: string; content: string }[] {
  const { paths, components } = openApiOf(operations, '') as unknown as Document;
  const describe = ({ operation: { path, method, id } }: DescribedOperation): Described => {
    const described = paths[path]?.[method.toLowerCase()];
    if (described === undefined) throw new Error(`the document has no operation "${id}"`);
    return described;
  };
  const resources = operationsByTag(operations);
  const roots = resources.map(
    ({ tag, operations: same }) => [pageOf(tag), same.map(describe).flatMap(bodiesOf)] as const,
  );
  const runConfig = [RUN_CONFIGURATION, [{ $ref: `#/components/schemas/${ROOT}` }]] as const;
  const tables = new SchemaTables(components.schemas, [runConfig, ...roots]);
  const pages = resources.map((resource) => {
    const page = pageOf(resource.tag);
    const sections = resource.operations.map((one) => section(one, describe(one), tables, page));
    return { path: `docs/reference/api/${page}`, content: resourcePage(resource, sections, tables.sections(page)) };
  });
  return [
    { path: 'docs/api.md', content: index(resources) },
    ...pages,
    { path: 'docs/reference/run-config.md', content: runConfigPage(components.schemas, tables) },
  ];
}

const bodiesOf = ({ requestBody, responses }: Described): ApiSchema[] =>
  [requestBody, ...Object.entries(responses).flatMap(([status, answer]) => (status < '300' ? [answer] : []))]
    .map((body) => jsonOf(body?.content))
    .filter((schema) => schema !== undefined);

type Resource = ReturnType<typeof operationsByTag>[number];

function index(resources: readonly Resource[]): string {
  const sections = resources.map(({ tag, description, operations }) =>
    [
      `## ${titleOf(tag)}\n\n${description}\n\n| Request | Operation |\n| --- | --- |`,
      ...operations.map(
        ({ operation: { method, path, summary } }) =>
          `| \`${method} ${path}\` | [${summary}](reference/api/${pageOf(tag)}#${anchorOf(summary)}) |`,
      ),
    ].join('\n'),
  );
  return `${HEADER}${INTRODUCTION}\n${sections.join('\n\n')}\n`;
}

function resourcePage(
  { tag, description, operations }: Resource,
  sections: readonly string[],
  schemas: readonly string[],
): string {
  const parts = [
    `# Management API: ${tag}`,
    `${description} The [list of all operations](../../api.md) says how requests and errors look.`,
    '## Operations',
    ...sections,
    ...(schemas.length > 0 ? ['## Schemas', ...schemas] : []),
    ...errorTable(operations),
  ];
  return `${HEADER}${parts.join('\n\n')}\n`;
}

function section(
  { operation, errors }: DescribedOperation,
  described: Described,
  tables: SchemaTables,
  page: string,
): string {
  const { method, path, summary, description, success } = operation;
  const [answer, body] = [
    jsonOf(described.responses[String(success.status)]?.content),
    jsonOf(described.requestBody?.content),
  ];
  const form = answer ? typeText(answer, tables, page) : success.hasLines ? ' lines of text' : ' without a body';
  return [
    `### ${summary}`,
    `\`${method} ${path}\``,
    description,
    described.parameters && parameterTable(described.parameters, tables, page),
    body && `Body:${typeText(body, tables, page)}`,
    body && tables.table(body, page),
    `Answer: ${String(success.status)}${form}`,
    answer && tables.table(answer, page),
    errors.length > 0 ? `Errors: ${errors.map(shortError).join(', ')}` : undefined,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n');
}

/** Returns the type of a body; empty for an object whose table follows. */
function typeText(schema: ApiSchema, tables: SchemaTables, page: string): string {
  const type = tables.link(schema, page);
  return type === 'object' && tables.table(schema, page) !== '' ? '' : ` ${type}`;
}

function parameterTable(parameters: readonly Parameter[], tables: SchemaTables, page: string): string {
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => {
    const byDefault = schema.default === undefined ? '' : `, default \`${JSON.stringify(schema.default)}\``;
    const isRequired = place === 'query' && required ? ', required' : '';
    const type = `${place}: ${tables.link(schema, page)}${isRequired}${byDefault}`;
    return `| \`${name}\` | ${cell(type)} | ${cell(description)} |`;
  });
  return ['| Parameter | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

type CodedError = DescribedOperation['errors'][number];

const statusOf = ({ status, isStructured }: CodedError): string =>
  String(status) + (isStructured === true ? ' \\*' : '');
const shortError = (error: CodedError): string => `${statusOf(error)} \`${error.code}\``;

/** Returns the errors of a page: each code once, with the meanings that operations give it. */
function errorTable(operations: readonly DescribedOperation[]): string[] {
  const meanings = new Map<string, Set<string>>();
  for (const error of operations.flatMap(({ errors }) => errors)) {
    const row = `| \`${error.code}\` | ${statusOf(error)} |`;
    meanings.set(row, (meanings.get(row) ?? new Set<string>()).add(error.message));
  }
  if (meanings.size === 0) return [];
  const rows = [...meanings].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = rows.map(([row, texts]) => `${row} ${cell([...texts].join('; or '))} |`);
  return ['## Errors', ['| Code | Status | Meaning |', '| --- | --- | --- |', ...lines].join('\n')];
}

function runConfigPage(schemas: ApiSchemas, tables: SchemaTables): string {
  const parts = [
    '# Run configuration',
    'Settings of one MCP server as a JSON object: the answer of [Export](api/workloads.md#export-the-run-configuration-of-a-workload). Durations are text (`1m30s`). ' +
      'An import also accepts them as objects (`{"seconds": 90}`) and as integer nanoseconds. ' +
      'In field names, `[]` is each item of a list and `{}` each value of a map.',
    `## ${ROOT}`,
    tables.table(schemas[ROOT] ?? {}, RUN_CONFIGURATION),
    '## Schemas of its fields',
    ...tables.sections(RUN_CONFIGURATION, ROOT),
  ];
  return `${HEADER}${parts.join('\n\n')}\n`;
}
