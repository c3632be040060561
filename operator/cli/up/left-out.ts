import type { Problem } from '../../../gateway/contract/problem.ts';
import { serverKey, type RunnableServer } from './running-servers.ts';

type Server = Pick<RunnableServer, 'namespace' | 'name' | 'excluded'>;

/** Renders one line for each member that a virtual server leaves out. Its problems are printed before. */
export const leftOutLines = (servers: readonly Server[]): string =>
  servers
    .flatMap((server) =>
      server.excluded.map(({ name, problems }) => {
        const reasons = [...new Set(problems.map(({ reason }) => reason))].join(', ');
        return `${serverKey(server)} runs without ${name}: see its problem above [${reasons}]\n`;
      }),
    )
    .join('');

/** Lists the problems of the members that a virtual server leaves out, as `/status` shows them. */
export const leftOutProblems = (servers: readonly Server[], namespace: string, name: string): Problem[] =>
  servers
    .filter((server) => server.namespace === namespace && server.name === name)
    .flatMap(({ excluded }) => excluded)
    .flatMap((member) =>
      member.problems.map(({ reason, message }) => ({
        reason,
        path: `vmcp.backends.${member.name}`,
        message: `backend "${member.name}" is left out: ${message}`,
      })),
    );
