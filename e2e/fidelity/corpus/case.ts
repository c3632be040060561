/** The requests whose results a gateway relays. */
export type Method = 'tools/call' | 'resources/read' | 'prompts/get' | 'completion/complete';

/** One reply of a backend whose every byte is known. */
export interface ReplyCase {
  /** Name of the tool or prompt, last segment of the resource's URI. */
  readonly name: string;
  readonly method: Method;
  readonly member: 'result' | 'error';
  /** JSON text of the member. */
  readonly json: string;
  /** The whole message: `ID` stands for the id, `MEMBER` for the member. The usual order and no white space unless given. */
  readonly envelope?: string;
  /** HTTP status of a JSON reply; 200 unless given. */
  readonly status?: number;
}

/** `{ name: JSON text }` as cases of one method. */
export const resultCases = (method: Method, results: Readonly<Record<string, string>>): ReplyCase[] =>
  Object.entries(results).map(([name, json]) => ({ name, method, member: 'result', json }));

/** A result of `tools/call` with these content items, written as JSON text, and these further members. */
export const content = (items: string, more = ''): string => `{"content":[${items}]${more}}`;

export const TEXT = '{"type":"text","text":"ok"}';
