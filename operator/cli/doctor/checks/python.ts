import { ok, warn, type Check, type Programs } from '../check.ts';

export const python: Check<Programs> = {
  name: 'Python packages',
  run: async ({ find, succeeds }) => {
    const uv = find('uv');
    if (uv !== undefined) return ok(uv);
    const advice = 'install uv (https://docs.astral.sh/uv), or python3 with its venv module';
    const interpreter = find('python3') ?? find('python');
    if (interpreter === undefined)
      return warn(`neither uv nor python3 is on PATH, so uvx:// servers cannot run: ${advice}`);
    return (await succeeds(interpreter, ['-c', 'import ensurepip, venv']))
      ? ok(`${interpreter} with venv; uv would install faster`)
      : warn(`${interpreter} has no venv module, so uvx:// servers cannot run: ${advice}`);
  },
};
