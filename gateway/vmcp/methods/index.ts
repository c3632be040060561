import { callTool } from './call-tool.ts';
import { complete } from './complete.ts';
import { getPrompt } from './get-prompt.ts';
import { list } from './lists.ts';
import type { Method } from './method.ts';
import { readResource } from './read-resource.ts';
import { setLevel } from './set-level.ts';
import { subscription } from './subscribe.ts';

/** Handlers of all requests within a session. `initialize` opens the session, so the edge handles it. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['tools/call', callTool],
  ['tools/list', list('tools')],
  ['resources/list', list('resources')],
  ['resources/templates/list', list('templates')],
  ['resources/read', readResource],
  ['resources/subscribe', subscription(true)],
  ['resources/unsubscribe', subscription(false)],
  ['prompts/list', list('prompts')],
  ['prompts/get', getPrompt],
  ['completion/complete', complete],
  ['logging/setLevel', setLevel],
  [
    'ping',
    (_server, _session, _request, answer) => {
      answer.result('{}');
    },
  ],
]);
