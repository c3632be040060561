import { describe, expect, it } from 'vitest';
import { leftOutLines, leftOutProblems } from './running-servers.ts';

const problem = (kind: string, name: string, reason: string) => ({
  kind,
  namespace: 'default',
  name,
  path: 'spec.env[0].fromEnv',
  reason,
  message: `${reason} of ${name}`,
});
const desk = {
  namespace: 'default',
  name: 'desk',
  excluded: [
    { kind: 'MCPServer', name: 'github', problems: [problem('MCPServer', 'github', 'HostVariableNotSet')] },
    {
      kind: 'MCPServerEntry',
      name: 'tickets',
      problems: [
        problem('MCPExternalAuthConfig', 'key', 'SecretNotFound'),
        problem('MCPExternalAuthConfig', 'other', 'SecretNotFound'),
      ],
    },
  ],
};
const other = { namespace: 'team', name: 'desk', excluded: [] };

describe('members that are left out', () => {
  it('have a line each, with the reasons', () => {
    expect(leftOutLines([desk, other])).toBe(
      'default/desk runs without github: see its problem above [HostVariableNotSet]\n' +
        'default/desk runs without tickets: see its problem above [SecretNotFound]\n',
    );
    expect(leftOutLines([other])).toBe('');
  });

  it('are problems of their own virtual server', () => {
    expect(leftOutProblems([desk, other], 'team', 'desk')).toEqual([]);
    expect(leftOutProblems([desk, other], 'default', 'desk').map(({ path }) => path)).toEqual([
      'vmcp.backends.github',
      'vmcp.backends.tickets',
      'vmcp.backends.tickets',
    ]);
    expect(leftOutProblems([desk], 'default', 'desk')[0]).toEqual({
      reason: 'HostVariableNotSet',
      path: 'vmcp.backends.github',
      message: 'backend "github" is left out: HostVariableNotSet of github',
    });
  });
});
