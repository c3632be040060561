import type { Rule } from 'eslint';

/** Reports each node that a selector of ESLint matches, with the message of this selector. */
function forbid(messages: Record<string, string>): Rule.RuleModule {
  return {
    create: (context) =>
      Object.fromEntries(
        Object.entries(messages).map(([selector, message]) => [
          selector,
          (node: Rule.Node) => {
            context.report({ node, message });
          },
        ]),
      ),
  };
}

const matches = (...selectors: string[]): string => `:matches(${selectors.join(', ')})`;

/** Calls `describe.concurrent(...)` and `it.concurrent(...)`, and the same with `.each(...)`. */
const CONCURRENT = matches(
  'CallExpression[callee.property.name="concurrent"]',
  'CallExpression[callee.callee.object.property.name="concurrent"]',
);
const TEST = 'CallExpression[callee.name="it"] > ArrowFunctionExpression[params.length=0]';
const TEST_OF_EACH = 'CallExpression[callee.callee.property.name="each"] > ArrowFunctionExpression';
const CONCURRENT_TEST = matches(
  'CallExpression[callee.object.name="it"][callee.property.name="concurrent"]',
  'CallExpression[callee.callee.object.property.name="concurrent"][callee.callee.object.object.name="it"]',
);
const POLL = 'MemberExpression[object.name="expect"][property.name="poll"]';

/** Rules of this repository, for oxlint.config.ts. */
export default {
  meta: { name: 'vmcp' },
  rules: {
    'named-exports': forbid({
      'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]':
        'Named exports only: a default export has a different name at every import.',
    }),
    'composition-roots': forbid({
      'MemberExpression[object.name="process"][property.name="env"]':
        'Take the value as a parameter: only composition roots read the environment (CONTRIBUTING.md).',
      'CallExpression[callee.object.name="process"][callee.property.name="exit"]':
        'Throw or return: only composition roots end the process (CONTRIBUTING.md).',
      'NewExpression[callee.name="Date"][arguments.length=0], MemberExpression[object.name="Date"][property.name="now"]':
        'Take the clock as a parameter: only composition roots read wall time (CONTRIBUTING.md).',
    }),
    pure: forbid({
      'MemberExpression[object.name="Math"][property.name="random"], CallExpression[callee.property.name=/^random(Bytes|UUID|Int)$/], CallExpression[callee.name=/^random(Bytes|UUID|Int)$/]':
        'This folder is pure: the same input gives the same bytes. Take the random value as a parameter.',
      'CallExpression[callee.name=/^set(Timeout|Interval|Immediate)$/]':
        'This folder is pure: no timers. Return the delay and let the caller wait.',
    }),
    // The globals of vitest belong to the test that began last. `it.each` passes no context.
    'concurrent-tests': forbid({
      [matches(`${CONCURRENT} ${TEST} ${POLL}`, `${CONCURRENT} ${TEST_OF_EACH} ${POLL}`, `${CONCURRENT_TEST} ${POLL}`)]:
        'Take `expect` from the context of the test, or use `eventually`: `expect.poll` fails when another test ends.',
      [`${CONCURRENT} CallExpression[callee.name=/^onTest(Failed|Finished)$/]`]:
        'Use `testScope()` or `printOnFailure()`, which know the test that runs them.',
    }),
  },
};
