import {
  arrayElements,
  isArraySpan,
  isObjectSpan,
  QUOTE,
  readKey,
  skipWhitespace,
  visitMembers,
  type Span,
} from '../../../http/json-walk.ts';

/** Value in a JSON text. */
export interface Value {
  readonly text: Buffer;
  readonly span: Span;
  /** Keys that lead to it, with `[]` for the elements of a list: `icons[].src`. */
  readonly path: string;
  /** True for an object whose keys are free. */
  readonly isMap?: boolean;
}

/** A value that clients reject. */
export interface Fault {
  readonly path: string;
  /** Predicate of the path: `is null`. */
  readonly words: string;
}

/** Called for each repair. `outcome` continues the words of the fault. */
export type Report = (fault: Fault, outcome: string) => void;

/**
 * Checks one value. Returns undefined for a valid one, the JSON text of a repaired one, and a fault for a value that cannot be
 * repaired: then its member or element is left out.
 */
export type Form = (value: Value, report: Report) => string | Fault | undefined;

const NULL = 'is null';

export const faultOf = ({ path }: Value, words: string): Fault => ({ path, words });

export const isNull = ({ text, span }: Value): boolean => text[span.start] === 0x6e;
export const textOf = ({ text, span }: Value): string => text.toString('utf8', span.start, span.end);
const isEmpty = ({ text, span }: Value): boolean => skipWhitespace(text, span.start + 1) === span.end - 1;
export const isEmptyList = (value: Value): boolean => isArraySpan(value.text, value.span) && isEmpty(value);
export const isEmptyObject = (value: Value): boolean => isObjectSpan(value.text, value.span) && isEmpty(value);

/** Accepts values for which `accepts` is true. `kind` is a noun: `string`. */
export const valid =
  (kind: string, accepts: (value: Value) => boolean): Form =>
  (value) =>
    accepts(value) ? undefined : faultOf(value, isNull(value) ? NULL : `is no ${kind}`);

export const text = valid('string', ({ text: bytes, span }) => bytes[span.start] === QUOTE);
export const flag = valid(
  'boolean',
  ({ text: bytes, span }) => bytes[span.start] === 0x74 || bytes[span.start] === 0x66,
);

/** Accepts every value but null. */
export const present = valid('value', (value) => !isNull(value));

/** Returns a form that is `check` for the values for which `applies` is true. Other values are valid unless they are null. */
const where =
  (applies: (bytes: Buffer, span: Span) => boolean, check: Form): Form =>
  (value, report) =>
    applies(value.text, value.span) ? check(value, report) : present(value, report);

export const ifObject = (check: Form): Form => where(isObjectSpan, check);
export const ifList = (check: Form): Form => where(isArraySpan, check);

export const oneOf = (...words: readonly string[]): Form => {
  const accepted = words.map((word) => JSON.stringify(word));
  return valid(`${accepted.slice(0, -1).join(', ')} or ${accepted.at(-1) ?? ''}`, (value) =>
    accepted.includes(textOf(value)),
  );
};

/** Accepts a number for which `accepts` is true. */
export const number = (kind: string, accepts: (value: number) => boolean): Form =>
  valid(kind, (value) => {
    const byte = value.text[value.span.start] ?? 0;
    return (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) && accepts(Number(textOf(value)));
  });

/** Leaves out the elements that `form` rejects. An empty object, which some languages write for an empty list, is repaired. */
export const list =
  (form: Form): Form =>
  (value, report) => {
    const { text: bytes, span, path } = value;
    if (isEmptyObject(value)) return becomes('[]', faultOf(value, 'is an empty object'), report);
    if (!isArraySpan(bytes, span)) return faultOf(value, isNull(value) ? NULL : 'is no list');
    const elements = arrayElements(bytes, span).map((element) => {
      const each = { text: bytes, span: element, path: `${path}[]` };
      return { each, checked: form(each, report) };
    });
    if (elements.every(({ checked }) => checked === undefined)) return undefined;
    const texts = elements.flatMap(({ each, checked }) => {
      if (typeof checked !== 'object') return [checked ?? textOf(each)];
      leftOut(each.path, checked, report);
      return [];
    });
    return `[${texts.join(',')}]`;
  };

/** Accepts any object. An empty list, which PHP writes for an empty object, is repaired. */
export const anyObject: Form = (value, report) => {
  if (isObjectSpan(value.text, value.span)) return undefined;
  if (isEmptyList(value)) return becomes('{}', faultOf(value, 'is an empty list'), report);
  return faultOf(value, isNull(value) ? NULL : 'is no object');
};

/** Text of a required member that is missing or wrong, and the words for it. */
interface Filled {
  readonly text: string;
  readonly outcome: string;
}

/**
 * Returns a required member that has this fault; undefined: the whole object cannot be repaired. `get` returns the JSON text of
 * another member, if that is valid.
 */
export type Fill = (fault: Fault, get: (key: string) => string | undefined) => Filled | undefined;

const MISSING = 'is missing';

/** Rejects the object. */
export const needed: Fill = () => undefined;

/** Takes a missing member, and null, for `value`. */
export const absent =
  (value: string): Fill =>
  ({ words }) =>
    words === MISSING || words === NULL ? { text: value, outcome: becoming(value) } : undefined;

/** Member of an object with the result of its check. */
interface Member {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
  readonly checked: string | Fault | undefined;
}

/**
 * Checks an object member by member: `forms` by key, `others` for the remaining members. An optional member that is no MCP is left
 * out; a required one is filled in, or the object has its fault.
 */
export const object =
  (forms: Readonly<Record<string, Form>>, required: Readonly<Record<string, Fill>> = {}, others?: Form): Form =>
  (value, report) => {
    const wrong = anyObject(value, report);
    if (typeof wrong === 'object') return wrong;
    const members = wrong === undefined ? membersOf(value, forms, others, report) : [];
    const get = (key: string): string | undefined => {
      const member = members.findLast((each) => each.key === key && typeof each.checked !== 'object');
      return member && memberText(value.text, member, member.valueStart);
    };
    const filled: string[] = [];
    for (const [key, fill] of Object.entries(required)) {
      const member = members.findLast((each) => each.key === key);
      const fault = member ? member.checked : { path: pathOf(value, key), words: MISSING };
      if (typeof fault !== 'object') continue;
      const own = fill(fault, get);
      if (!own) return fault;
      report(fault, own.outcome);
      filled.push(`${JSON.stringify(key)}:${own.text}`);
    }
    for (const { key, checked } of members)
      if (typeof checked === 'object' && !Object.hasOwn(required, key)) leftOut(pathOf(value, key), checked, report);
    if (wrong === undefined && filled.length === 0 && members.every(({ checked }) => checked === undefined))
      return undefined;
    const kept = members.filter(({ checked }) => typeof checked !== 'object');
    return `{${[...kept.map((each) => memberText(value.text, each, each.start)), ...filled].join(',')}}`;
  };

/** Checks the values of an object whose keys are free. A value that `form` rejects is left out. */
export const map = (form: Form): Form => {
  const members = object({}, {}, form);
  return (value, report) => members({ ...value, isMap: true }, report);
};

function membersOf(
  value: Value,
  forms: Readonly<Record<string, Form>>,
  others: Form | undefined,
  report: Report,
): Member[] {
  const { text: bytes } = value;
  const members: Member[] = [];
  visitMembers(bytes, value.span, (start, keyEnd, valueStart, end) => {
    const key = readKey(bytes, start, keyEnd);
    const form = Object.hasOwn(forms, key) ? forms[key] : others;
    const member = { text: bytes, span: { start: valueStart, end }, path: pathOf(value, key) };
    members.push({ key, start, valueStart, end, checked: form?.(member, report) });
  });
  return members;
}

/** Returns the path of a member: the same for all members of a map, whose keys the server chooses. */
function pathOf({ path, isMap }: Value, key: string): string {
  const name = isMap === true ? '*' : key;
  return path === '' ? name : `${path}.${name}`;
}

/** Returns the text of a member from `from`, the start of its key or of its value. */
const memberText = (bytes: Buffer, { valueStart, end, checked }: Member, from: number): string =>
  typeof checked === 'string' ? bytes.toString('utf8', from, valueStart) + checked : bytes.toString('utf8', from, end);

const becoming = (repaired: string): string => ` and becomes ${repaired}`;

/** Reports a fault because of which the value at `path`, which has it or contains it, is left out. */
export function leftOut(path: string, fault: Fault, report: Report): void {
  report(fault, fault.path === path ? ' and is left out' : `, so ${JSON.stringify(path)} is left out`);
}

/** Reports a repaired value, and returns its text. */
export function becomes(repaired: string, fault: Fault, report: Report): string {
  report(fault, becoming(repaired));
  return repaired;
}
