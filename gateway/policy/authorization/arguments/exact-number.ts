import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';

/** A number in the forms that policies compare. */
export interface ExactNumber {
  /** A whole number as itself, a fraction as a Cedar `decimal`, and a fraction of more than four digits as a record. */
  readonly value: CedarValueJson;
  /** Largest whole number that is not above it. */
  readonly floor: number;
  /** Smallest whole number that is not below it. */
  readonly ceiling: number;
  /** Difference to `floor` in units of 10^-15; undefined for smaller digits. */
  readonly rest: number | undefined;
  /** The number as a Cedar `decimal`; undefined where that type cannot hold it. */
  readonly decimal: CedarValueJson | undefined;
}

/** Longest number that is read: without an exponent, and with a bound, since clients choose it. */
const NUMBER = /^(-?)(\d{1,16})(?:\.(\d{1,40}))?$/u;
/** A double holds every number of so many digits exactly. */
const EXACT_DIGITS = 15;
const REST_DIGITS = 15;
/** Digits after the point, and whole part, of a Cedar `decimal`: a multiple of 10^-4 in 64 bits. */
const DECIMAL_DIGITS = 4;
const MAX_DECIMAL = 922_337_203_685_476;

/**
 * Reads the JSON text of a number. Returns undefined for one that readers of JSON could take for different numbers: with an
 * exponent, or with more digits than a double holds.
 */
export function exactNumber(text: string): ExactNumber | undefined {
  const [, sign = '', whole = '', digits = ''] = NUMBER.exec(text) ?? [];
  if (whole === '') return undefined;
  const fraction = digits.replace(/(?<!0)0+$/u, '');
  const number = Number(text);
  return fraction === '' ? wholeNumber(number) : fractional(number, sign, whole, fraction);
}

function wholeNumber(number: number): ExactNumber | undefined {
  if (!Number.isSafeInteger(number)) return undefined;
  const value = number + 0; // no negative zero
  return { value, floor: value, ceiling: value, rest: 0, decimal: decimalOf(value, `${String(value)}.0`) };
}

function fractional(number: number, sign: string, whole: string, fraction: string): ExactNumber | undefined {
  const text = `${sign}${whole}.${fraction}`;
  const digits = `${whole}${fraction}`.replace(/^0+/u, '').length;
  if (digits > EXACT_DIGITS && String(number) !== text) return undefined;
  const decimal = fraction.length > DECIMAL_DIGITS ? undefined : decimalOf(number, text);
  const rest = fraction.length > REST_DIGITS ? undefined : Number(fraction.padEnd(REST_DIGITS, '0'));
  return {
    value: decimal ?? { number: text },
    floor: Math.floor(number),
    ceiling: Math.ceil(number) + 0,
    rest: rest === undefined || sign === '' ? rest : 10 ** REST_DIGITS - rest,
    decimal,
  };
}

const decimalOf = (number: number, text: string): CedarValueJson | undefined =>
  Math.abs(number) > MAX_DECIMAL ? undefined : { __extn: { fn: 'decimal', arg: text } };
