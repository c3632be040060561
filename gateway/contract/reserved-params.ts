import type { Problem } from './problem.ts';
import { rule, type Rule } from './rule.ts';

const MAX_PARAMETERS = 16;
const MAX_LENGTH = 2048;

/** Rejects parameters in a map of a resource that the gateway sets itself. */
export const reservedRule = (member: string, reserved: readonly string[]): Rule =>
  rule<Record<string, string>>(member, {
    rule: `!self.exists(p, p in [${reserved.map((name) => `'${name}'`).join(', ')}])`,
    message: `the gateway sets these itself: remove ${reserved.join(', ')}`,
    check: (self) => !Object.keys(self).some((name) => reserved.includes(name)),
  });

type Parameters = Readonly<Record<string, string>>;

/** Lists the problems of additional parameters at a path of a configuration. */
export function reservedProblems(at: string, reserved: readonly string[], parameters: Parameters = {}): Problem[] {
  const problem = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
  const names = Object.keys(parameters);
  return [
    ...(names.length > MAX_PARAMETERS ? [problem(at, `set at most ${String(MAX_PARAMETERS)} parameters`)] : []),
    ...names
      .filter((name) => reserved.includes(name))
      .map((name) => problem(`${at}.${name}`, 'the gateway sets this parameter itself: remove it')),
    ...names
      .filter((name) => name === '' || name.length + (parameters[name] ?? '').length > MAX_LENGTH)
      .map((name) =>
        problem(`${at}.${name}`, `a parameter must have a name, and at most ${String(MAX_LENGTH)} characters`),
      ),
  ];
}
