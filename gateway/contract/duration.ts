import { DURATION_PATTERN, durationMs } from './fields.ts';
import { isObject } from './json.ts';
import { rule, type Rule } from './rule.ts';

type Members = Readonly<Record<string, unknown>>;

const reads = (self: Members, member: string): number | undefined => {
  const text = self[member];
  return typeof text === 'string' ? durationMs(text) : undefined;
};

/** A duration of at least `least`. */
export const minimum = (path: string, member: string, least: string): Rule =>
  rule<Members>(path, {
    field: member,
    rule: `!has(self.${member}) || duration(self.${member}) >= duration('${least}')`,
    message: `${member} must be at least ${least}`,
    check: (self) => (reads(self, member) ?? Infinity) >= durationMs(least),
  });

/** A duration within bounds, both included. */
export const between = (path: string, member: string, least: string, most: string): Rule =>
  rule<Members>(path, {
    field: member,
    rule: `!has(self.${member}) || (duration(self.${member}) >= duration('${least}') && duration(self.${member}) <= duration('${most}'))`,
    message: `${member} must be from ${least} to ${most}`,
    check: (self) => {
      const value = reads(self, member);
      return value === undefined || (value >= durationMs(least) && value <= durationMs(most));
    },
  });

const UNIT_NS: Readonly<Record<string, bigint>> = {
  hours: 3_600_000_000_000n,
  minutes: 60_000_000_000n,
  seconds: 1_000_000_000n,
  milliseconds: 1_000_000n,
  nanos: 1n,
  nanoseconds: 1n,
};

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const decimal = (amount: bigint, unit: bigint): string => {
  const digits = String(unit).length - 1;
  const fraction = String(amount % unit)
    .padStart(digits, '0')
    .replace(/(?<!0)0+$/, '');
  return fraction ? `${amount / unit}.${fraction}` : `${amount / unit}`;
};

/** The canonical text of a duration, as Go prints it: `1m0s`, `1.5s`, `250ms`, `0s`. */
function format(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`;
  const minutes = nanoseconds / 60_000_000_000n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return seconds;
  const hours = minutes / 60n;
  return hours === 0n ? `${minutes}m${seconds}` : `${hours}h${minutes % 60n}m${seconds}`;
}

/**
 * A duration as text, from text (kept as written), integer nanoseconds, `{duration: text}` or
 * `{hours?, minutes?, seconds?, milliseconds?, nanos?}`; undefined for anything else.
 */
export function durationText(value: unknown): string | undefined {
  if (typeof value === 'string') return new RegExp(DURATION_PATTERN, 'u').test(value) ? value : undefined;
  if (isWhole(value)) return format(BigInt(value));
  if (!isObject(value)) return undefined;
  const parts = Object.entries(value);
  const [first] = parts;
  if (parts.length === 1 && first?.[0] === 'duration' && typeof first[1] !== 'object') return durationText(first[1]);
  let total = 0n;
  for (const [unit, amount] of parts) {
    const factor = Object.hasOwn(UNIT_NS, unit) ? UNIT_NS[unit] : undefined;
    // protobuf's JSON writes 64-bit `seconds` as text.
    const count: unknown = typeof amount === 'string' && /^\d{1,15}$/.test(amount) ? Number(amount) : amount;
    if (factor === undefined || !isWhole(count)) return undefined;
    total += BigInt(count) * factor;
  }
  return parts.length === 0 ? undefined : format(total);
}
