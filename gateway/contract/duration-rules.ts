import { durationMs } from './fields.ts';
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
