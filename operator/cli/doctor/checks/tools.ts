import { NoStatus } from '../../status/management.ts';
import { ok, warn, type Check } from '../check.ts';

/** Reason of the advice that a gateway gives on tools which the APIs of models reject. */
const ADVICE = 'ToolsNotPortable';

export const tools: Check = {
  name: 'tools',
  run: async ({ running, serversAt }) => {
    if (!running) return ok('not checked: no vmcp up runs with this state folder');
    try {
      const servers = await serversAt(running.managementUrl);
      const advice = servers.flatMap(({ problems }) => problems.filter(({ reason }) => reason === ADVICE));
      if (advice.length === 0) return ok('OpenAI, Anthropic and Gemini accept them');
      const messages = [...new Set(advice.map(({ message }) => message))];
      return warn(`${messages.join('. ')}. vmcp tools --check lists all of them`);
    } catch (error) {
      if (error instanceof NoStatus) return ok('not checked: vmcp up does not answer yet');
      throw error;
    }
  },
};
