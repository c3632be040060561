import { operationsByTag, SHARED_ERRORS, type DescribedOperation } from '../gateway/management/frame/openapi.ts';
import type { ManagementOperation } from '../gateway/management/operation.ts';
import { fieldTable, HEADER } from './reference.ts';

const INTRODUCTION = `# Management API

\`vmcp up\` serves this API on its management listener, and \`vmcp serve\` serves it alone. The same description for programs:
\`/api/openapi.json\`, or [openapi.json](reference/openapi.json). Generators make clients from it: oapi-codegen, openapi-typescript,
openapi-python-client and openapi-generator (Java, Go) are known to work.

A request body is one JSON object of at most 1 MiB, 10,000 values, and 1,000 members in each object. Unknown members are ignored. An error is plain text, or JSON with \`code\` and
\`message\` where its status is marked with \\*. A client that sends \`Accept: application/problem+json\` receives it as problem
details (RFC 9457). A request with a wrong \`Host\`, \`Origin\` or token gets 403 or 401 before that, as JSON with \`error\`. A body
that a browser sends must have the type \`application/json\`, else the answer is 415; programs may send any type.

Every operation except those of \`server\` may also answer with one of these errors, and its text has the reason and what to do. Any other
error of vmcp is 500 \`internal_error\`, and the log has its cause.

| Status | Code | Meaning |
| ------ | ---- | ------- |
${SHARED_ERRORS.map(({ code, status, message }) => `| ${String(status)} | \`${code}\` | ${message} |`).join('\n')}
`;

/** Returns the Markdown page of the management API. */
export function apiReference(operations: readonly ManagementOperation[]): string {
  const sections = operationsByTag(operations).map(
    ({ tag, description, operations: same }) => `## ${tag}\n\n${description}\n\n${same.map(section).join('\n\n')}`,
  );
  return `${HEADER}${INTRODUCTION}\n${sections.join('\n\n')}\n`;
}

function section({ operation, errors }: DescribedOperation): string {
  const { method, path, summary, description, input, success } = operation;
  const parts = [
    `### ${summary}`,
    `\`${method} ${path}\``,
    description ?? '',
    ...[
      ['Path', input.path],
      ['Query', input.query],
      ['Body', input.body],
    ].map(([name, schema]) => fields(name as string, schema as never)),
    `Answer: ${String(success.status)}${success.hasLines === true ? ', lines of text' : success.body ? '' : ', without a body'}`,
    success.body ? fields('Answer', success.body) : '',
    errors.length > 0 ? errorTable(errors) : '',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function fields(name: string, schema: Parameters<typeof fieldTable>[0] | undefined): string {
  const table = schema && fieldTable(schema);
  return table === undefined || table === '' ? '' : `**${name}**\n\n${table}`;
}

const errorTable = (errors: DescribedOperation['errors']): string =>
  [
    '| Status | Code | Meaning |',
    '| --- | --- | --- |',
    ...errors.map(
      ({ status, code, message, isStructured }) =>
        `| ${String(status)}${isStructured === true ? ' \\*' : ''} | \`${code}\` | ${message} |`,
    ),
  ].join('\n');
