/** Runs a function that may hang. After `limitMs` aborts its signal and rejects with the error of `late`. */
export async function withinTime<Result>(
  limitMs: number,
  run: (signal: AbortSignal) => Promise<Result>,
  late: () => Error,
): Promise<Result> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      abort.abort();
      reject(late());
    }, limitMs);
  });
  try {
    return await Promise.race([run(abort.signal), expired]);
  } finally {
    clearTimeout(timer);
  }
}
