import { MemoryUpstreamTokens } from '../../e2e/harness/upstream-tokens.ts';
import { CredentialError } from './authenticator.ts';
import { describeUpstreamTokens, type UpstreamTokensWorld } from './testdata/upstream-tokens-suite.ts';

describeUpstreamTokens('upstream tokens in memory', async (): Promise<UpstreamTokensWorld> => {
  let now = 1_800_000_000_000;
  let refreshes = 0;
  const tokens = new MemoryUpstreamTokens(() => now);
  return {
    tokens,
    async login(owner, provider, grant, answers = []) {
      const [...left] = answers;
      const refresh = async () => {
        refreshes += 1;
        const answer = left.length > 1 ? left.shift() : left[0];
        if (answer === 'dead') throw new CredentialError('reauthenticate', 'the provider knows the grant no longer');
        if (answer === 'unavailable' || !answer) throw new CredentialError('unavailable', 'the provider is away');
        return answer;
      };
      tokens.put(owner, provider, { ...grant, ...(answers.length > 0 && { refresh }) });
    },
    logout: async (owner, provider) => tokens.delete(owner, provider),
    refreshCount: () => refreshes,
    advance: (ms) => void (now += ms),
    setStoreDown: async (down) => void (tokens.down = down),
  };
});
