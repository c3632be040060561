/** Requests with forwarded results. */
export type Method = 'tools/call' | 'resources/read' | 'prompts/get' | 'completion/complete';

/** One reply with exact bytes. */
export interface ReplyCase {
  /** Name of the tool or prompt, last segment of the resource's URI. */
  readonly name: string;
  readonly method: Method;
  readonly member: 'result' | 'error';
  /** JSON text of the member. */
  readonly json: string;
  /** JSON text of a result that clients cannot read, as they get it. */
  readonly repaired?: string;
  /** The whole message, in which `ID` is replaced with the id and `MEMBER` with the member. By default in the usual order without white space. */
  readonly envelope?: string;
  /** HTTP status of a JSON reply; 200 by default. */
  readonly status?: number;
}

/** Returns `{ name: JSON text }` as cases of one method. */
export const resultCases = (method: Method, results: Readonly<Record<string, string>>): ReplyCase[] =>
  Object.entries(results).map(([name, json]) => ({ name, method, member: 'result', json }));

/** Returns a result of `tools/call` with these content items and further members, as JSON texts. */
export const content = (items: string, more = ''): string => `{"content":[${items}]${more}}`;

export const TEXT = '{"type":"text","text":"ok"}';
