import { Type } from 'typebox';
import { HttpUrl } from '../../../contract/fields.ts';
import { isHeaderValue } from '../../../contract/reserved-names.ts';
import { ATOMIC, block, textMap, texts } from '../../../contract/optional.ts';
import { invalid, type Problem } from '../../../contract/problem.ts';
import type { UserInfoConfig } from '../../../contract/run-config/upstreams.ts';
import { HEADER_NAME_PATTERN, isRestricted, RESTRICTED_MESSAGE } from '../../../contract/rule.ts';
import { dotPathFault } from '../protocol/token-reply.ts';
import { urlProblems } from '../../../contract/addresses.ts';

const fields = (description: string) => texts(description, { maxItems: 16, ...ATOMIC });

/** Userinfo endpoint in a resource. */
export const userInfoSpec = (description: string) =>
  block(description, {
    endpointUrl: HttpUrl('Userinfo endpoint.', { maxLength: 2048 }),
    httpMethod: Type.Optional(Type.Enum(['GET', 'POST'], { description: 'Method of the request. Defaults to GET.' })),
    additionalHeaders: textMap('Additional headers of the request, by header name.', { maxProperties: 32 }),
    fieldMapping: block('Members of the response that identify the user. The first one present is used.', {
      subjectFields: fields('Members that may hold the subject.'),
      nameFields: fields('Members that may hold the display name.'),
      emailFields: fields('Members that may hold the e-mail address.'),
    }),
  });

interface UserInfoSpec {
  readonly endpointUrl: string;
  readonly httpMethod?: 'GET' | 'POST';
  readonly additionalHeaders?: Readonly<Record<string, string>>;
  readonly fieldMapping?: {
    readonly subjectFields?: readonly string[];
    readonly nameFields?: readonly string[];
    readonly emailFields?: readonly string[];
  };
}

export function resolveUserInfo({ endpointUrl, httpMethod, additionalHeaders, fieldMapping }: UserInfoSpec) {
  const { subjectFields, nameFields, emailFields } = fieldMapping ?? {};
  return {
    endpoint_url: endpointUrl,
    ...(httpMethod && { http_method: httpMethod }),
    ...(additionalHeaders && { additional_headers: { ...additionalHeaders } }),
    ...(fieldMapping && {
      field_mapping: {
        ...(subjectFields && { subject_fields: [...subjectFields] }),
        ...(nameFields && { name_fields: [...nameFields] }),
        ...(emailFields && { email_fields: [...emailFields] }),
      },
    }),
  } satisfies UserInfoConfig;
}

/** Lists the problems that the schema cannot express. Paths start at the block. */
export function userInfoProblems(
  { endpoint_url: url, http_method: method, additional_headers: headers = {}, field_mapping = {} }: UserInfoConfig,
  insecure: boolean,
): Problem[] {
  return [
    ...(url === undefined ? [] : urlProblems(url, 'endpoint_url', insecure)),
    ...(method === undefined || method === 'GET' || method === 'POST'
      ? []
      : [invalid('http_method', 'use GET or POST')]),
    ...Object.entries(headers).flatMap(([name, value]) => {
      const fault = headerFault(name, value);
      return fault === undefined ? [] : [invalid(`additional_headers.${name}`, fault)];
    }),
    ...Object.entries(field_mapping).flatMap(([member, paths]) =>
      paths.flatMap((path, index) => {
        const fault = fieldFault(path);
        return fault === undefined ? [] : [invalid(`field_mapping.${member}[${String(index)}]`, fault)];
      }),
    ),
  ];
}

/** Returns the fault of a field. A claim name may be a URL, whose dots do not separate a path. */
const fieldFault = (field: string): string | undefined =>
  /^https?:\/\//u.test(field) ? undefined : dotPathFault(field);

function headerFault(name: string, value: string): string | undefined {
  if (!new RegExp(HEADER_NAME_PATTERN, 'u').test(name)) return 'this is not a header name (RFC 9110 §5.1)';
  if (isRestricted(name) || name.toLowerCase() === 'expect') return RESTRICTED_MESSAGE;
  return isHeaderValue(value) ? undefined : 'the value has a character that is not allowed in a header';
}
