const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const QUANTITY = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/u;
const NANO = 1_000_000_000n;
/** The API server rounds longer quantities. */
const MAX_DIGITS = 40;

/**
 * Returns a quantity as the API server does: `0.5` is `500m`, `1024Mi` is `1Gi`. Undefined for text that is not a
 * quantity. Parts below a billionth are rounded up.
 */
export function canonicalQuantity(text: string): string | undefined {
  const read = readQuantity(text);
  if (!read) return undefined;
  const { isNegative, nanos, suffix, exponent } = read;
  if (nanos === 0n) return '0';
  const minus = isNegative ? '-' : '';
  if (exponent !== undefined) return minus + decimalExponent(nanos);
  // Binary suffixes are for whole numbers only.
  const isBinary = suffix.endsWith('i') && nanos >= 1024n * NANO && nanos % NANO === 0n;
  return minus + (isBinary ? binary(nanos / NANO) : decimal(nanos));
}

/** Returns true when one quantity is larger than another; false unless both are quantities. */
export function isLarger(text: string, than: string): boolean {
  const [a, b] = [readQuantity(text), readQuantity(than)];
  return a !== undefined && b !== undefined && signed(a) > signed(b);
}

const signed = ({ isNegative, nanos }: Quantity): bigint => (isNegative ? -nanos : nanos);

interface Quantity {
  readonly isNegative: boolean;
  readonly nanos: bigint;
  readonly suffix: string;
  readonly exponent: string | undefined;
}

function readQuantity(text: string): Quantity | undefined {
  const [, sign = '', digits = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (digits === '' || text.length > MAX_DIGITS) return undefined;
  const exponent = /^[eE]([+-]?\d+)$/u.exec(suffix)?.[1];
  if (exponent !== undefined && Math.abs(Number(exponent)) > 18) return undefined;
  return { isNegative: sign === '-', nanos: inNanos(digits, suffix, exponent), suffix, exponent };
}

function inNanos(digits: string, suffix: string, exponent: string | undefined): bigint {
  const [whole = '', fraction = ''] = digits.split('.');
  const mantissa = BigInt(`${whole}${fraction}`);
  const scale = NANO * (exponent === undefined ? factorOf(suffix) : 1n);
  // A decimal suffix below one and a fraction divide.
  const power = (exponent === undefined ? decimalPower(suffix) : Number(exponent)) - fraction.length;
  return power >= 0 ? mantissa * scale * 10n ** BigInt(power) : divideUp(mantissa * scale, 10n ** BigInt(-power));
}

const factorOf = (suffix: string): bigint => (suffix.endsWith('i') ? 1024n ** BigInt(BINARY.indexOf(suffix)) : 1n);
const decimalPower = (suffix: string): number => (suffix.endsWith('i') ? 0 : (DECIMAL.indexOf(suffix) - 3) * 3);
const divideUp = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;

/** Formats with the largest suffix that leaves a whole number. */
function decimal(nanos: bigint): string {
  const [mantissa, thousands] = reduce(nanos, 1000n, DECIMAL.length - 1);
  return `${String(mantissa)}${DECIMAL[thousands] ?? ''}`;
}

function decimalExponent(nanos: bigint): string {
  const [mantissa, thousands] = reduce(nanos, 1000n, Number.POSITIVE_INFINITY);
  const power = (thousands - 3) * 3;
  return power === 0 ? String(mantissa) : `${String(mantissa)}e${String(power)}`;
}

function binary(whole: bigint): string {
  const [mantissa, kibi] = reduce(whole, 1024n, BINARY.length - 1);
  return `${String(mantissa)}${BINARY[kibi] ?? ''}`;
}

function reduce(value: bigint, by: bigint, most: number): readonly [bigint, number] {
  let [rest, times] = [value, 0];
  while (times < most && rest % by === 0n) [rest, times] = [rest / by, times + 1];
  return [rest, times];
}
