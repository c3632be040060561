import { callTool } from '../../methods/call-tool.ts';
import { complete } from '../../methods/complete.ts';
import { getPrompt } from '../../methods/get-prompt.ts';
import { list } from '../../methods/lists.ts';
import { readResource } from '../../methods/read-resource.ts';
import { limited, type ObservedMethod } from '../../methods/method.ts';
import { discover } from './discover.ts';
import { listen } from './listen.ts';
import { multiRound, singleRound, withSecrets } from './multi-round.ts';
import type { Rounds } from './rounds-answer.ts';
import { getSkill, listSkills, readDirectory } from './skills.ts';
import { taskMethod } from './tasks/task-method.ts';

const TASK_METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** Returns the handlers of all requests without a session. */
export const modernMethods = (rounds: Rounds): ReadonlyMap<string, ObservedMethod> =>
  new Map<string, ObservedMethod>([
    ['tools/call', limited(multiRound(callTool, rounds))],
    ['tools/list', list('tools')],
    ['resources/list', list('resources')],
    ['resources/templates/list', list('templates')],
    ['resources/read', limited(multiRound(readResource, rounds))],
    ['prompts/list', list('prompts')],
    ['prompts/get', limited(multiRound(getPrompt, rounds))],
    ['completion/complete', limited(singleRound(complete))],
    ['skills/list', listSkills],
    ['skills/get', limited(multiRound(getSkill, rounds))],
    ['resources/directory/read', limited(multiRound(readDirectory, rounds))],
    ...TASK_METHODS.map((name): [string, ObservedMethod] => [
      name,
      limited(withSecrets(rounds.keys, taskMethod(rounds.tasks))),
    ]),
    ['server/discover', discover],
    ['subscriptions/listen', withSecrets(rounds.keys, listen(rounds.tasks))],
  ]);
